"""Ruby: what is defined, what names mean, what is required."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "modules, classes and methods",
        "module A\n  class B < C\n    LIMIT = 3\n    def m(x, y = 1, *rest, k: 2, **opts, &blk)\n      x + y\n    end\n"
        "    def self.make; end\n  end\nend\n",
        "module A; class A.B; constant A.B.LIMIT; method A.B.m; parameter A.B.m.x; parameter A.B.m.y; "
        "parameter A.B.m.rest; parameter A.B.m.k; parameter A.B.m.opts; parameter A.B.m.blk; method A.B.make",
        "x@5 -> 4; y@5 -> 4; C@2 -> -; make@7 of THIS",
    ),
    Case(
        "a method at the top is a function",
        "def hello(name)\n  puts name\nend\nhello 1\n",
        "function hello; parameter hello.name",
        "name@2 -> 1; puts@2 -> -",
    ),
    Case(
        "attributes",
        "class A\n  attr_accessor :name, :age\n  attr_reader :id\n  attr_writer 'x'\nend\n",
        "class A; property A.name; property A.age; property A.id",
    ),
    Case(
        "locals are bound by assignment",
        "def f\n  a = 1\n  a += 2\n  b, c = a, g\n  b + c + d\nend\n",
        "function f; variable f.a; variable f.b; variable f.c",
        "a@3 -> 2; a@4 -> 2; b@5 -> 4; c@5 -> 4; d@5 -> -; g@4 -> -",
    ),
    Case(
        "a name read before its assignment is a call",
        "def f\n  x\n  x = 1\n  x\nend\n",
        None,
        "x@2 -> -; x@4 -> 3",
    ),
    Case(
        "blocks see the locals around them and keep their own",
        "def f(xs)\n  n = 0\n  xs.each do |x|\n    n += x\n    t = x\n  end\n  t\nend\n",
        "function f; parameter f.xs; variable f.n; parameter f.x; variable f.t",
        "n@4 -> 2; x@4 -> 3; t@7 -> -; each@3 of xs",
    ),
    Case(
        "a method does not see the locals around it",
        "x = 1\ndef f\n  x\nend\nx\n",
        None,
        "x@3 -> -; x@5 -> 1",
    ),
    Case(
        "members, scopes and safe navigation",
        "A::B.c.d\n@x.y\nself.z\na&.b\nf(1).g\nsuper.h\n::Top\n",
        None,
        "B@1 of A; c@1 of B; d@1 of c; y@2 of @x; z@3 of THIS; b@4 of a; g@5 of EXPRESSION; Top@7 of NOTHING",
    ),
    Case(
        "requires",
        "require 'json'\nrequire_relative \"lib/a\"\nload 'x.rb'\nrequire name\n",
        "",
        imports="ruby_require json; ruby_require lib/a; ruby_require x.rb",
    ),
    Case(
        "a reopened class is doubtful",
        "class A\n  def x; end\nend\nclass A\n  def y; end\nend\n",
        "class A; method A.x; class A; method A.y",
        "A@1 -> 1?; A@4 -> 4?",
    ),
    Case(
        "instance, class and global variables are names of their own",
        "class A\n  def m\n    @a = @@b\n    $c = @a\n  end\nend\n",
        "class A; method A.m",
        "@a@3 of THIS; @@b@3 -> -; $c@4 -> -",
    ),
    Case(
        "rescue, case and for bind locals",
        "def f\n  for i in 1..3 do i end\n  begin\n    g\n  rescue E => e\n    e.m\n  end\nend\n",
        "function f; variable f.i; variable f.e",
        "i@2.2 -> 2; e@6 -> 5; m@6 of e",
    ),
    Case(
        "names of classes with a path, and singleton classes",
        "class A::B\n  class << self\n    def c; end\n  end\nend\n",
        "class A.B; method A.B.c",
        "B@1 of A",
    ),
    Case(
        "keys of hashes and keyword arguments",
        "def f(a)\n  g(a: a, b: 1)\nend\n",
        None,
        "a@2 of KEYWORD; a@2.2 -> 1; b@2 of KEYWORD",
    ),
    Case(
        "lambdas and block parameters",
        "f = ->(x, y) { x * y }\ng = proc { |a, (b, c)| a + c }\n",
        "variable f; parameter x; parameter y; variable g; parameter a; parameter b; parameter c",
        "x@1.2 -> 1; c@2.2 -> 2",
    ),
)
