"""PHP: what is defined, what names mean, what is imported."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "a namespace with a class",
        "<?php\nnamespace App\\Models;\nfinal class User extends Model implements A, B {\n  use Notifies;\n"
        "  const MAX = 3;\n  private ?int $age = 1;\n  public function __construct(private string $name) {}\n"
        "  public static function make(int $n = 1): self { return new self($n); }\n}\n",
        "module App\\Models; class App\\Models.User; constant App\\Models.User.MAX; property App\\Models.User.age; "
        "method App\\Models.User.__construct; parameter App\\Models.User.__construct.$name; "
        "property App\\Models.User.name; method App\\Models.User.make; parameter App\\Models.User.make.$n",
        "$n@8.2 -> 8; Model@3 of NOTHING",
    ),
    Case(
        "functions and locals",
        "<?php\nfunction f($a, &$b, ...$c) {\n  $x = $a;\n  $x .= $b;\n  return $x . $c . $y;\n}\n",
        "function f; parameter f.$a; parameter f.$b; parameter f.$c; variable f.$x",
        "$a@3 -> 2; $x@4 -> 3; $x@5 -> 3; $c@5 -> 2; $y@5 -> -",
    ),
    Case(
        "uses",
        "<?php\nuse A\\B;\nuse A\\C as D;\nuse function A\\f;\nuse const A\\X;\nuse G\\{H, I\\J as K};\n",
        "",
        imports="php_use A : B; php_use A : C as D; php_use A : f; php_use A : X; php_use G : H; php_use G\\I : J as K",
    ),
    Case(
        "members",
        "<?php\nfunction f($o) {\n  $o->a->b();\n  A::c();\n  A::$d;\n  A::E;\n  g()->h;\n  $o?->i;\n}\n",
        None,
        "a@3 of $o; b@3 of a; c@4 of A; d@5 of A; E@6 of A; h@7 of EXPRESSION; i@8 of $o",
    ),
    Case(
        "this, self, static, parent",
        "<?php\nclass A extends B {\n  function m() {\n    $this->x = 1;\n    self::y();\n    static::z();\n"
        "    parent::m();\n  }\n}\n",
        None,
        "x@4 of THIS; y@5 of THIS; z@6 of THIS; m@7 of SUPER",
    ),
    Case(
        "interface, trait, enum",
        "<?php\ninterface I { function m(); }\ntrait T { public $p; }\n"
        "enum Suit: string { case Hearts = 'H'; const X = 1; }\n",
        "interface I; method I.m; trait T; property T.p; enum Suit; constant Suit.Hearts; constant Suit.X",
    ),
    Case(
        "closures see only what they use",
        "<?php\nfunction f($a, $b) {\n  $g = function ($x) use ($a) { return $x + $a + $b; };\n"
        "  return fn($y) => $y + $b;\n}\n",
        None,
        "$x@3.2 -> 3; $a@3 -> 2; $b@3 -> -; $y@4.2 -> 4; $b@4 -> 2",
    ),
    Case(
        "a function does not see variables of the file",
        "<?php\n$x = 1;\nfunction f() { return $x; }\necho $x;\n",
        "variable $x; function f",
        "$x@3 -> -; $x@4 -> 2",
    ),
    Case(
        "loops, catches, lists, static and global variables",
        "<?php\nfunction f($xs) {\n  foreach ($xs as $k => $v) { echo $k, $v; }\n  [$a, $b] = $xs;\n"
        "  try { } catch (E $e) { echo $e; }\n  static $n = 0;\n  return $a + $n;\n}\n",
        "function f; parameter f.$xs; variable f.$k; variable f.$v; variable f.$a; variable f.$b; variable f.$e; "
        "variable f.$n",
        "$k@3.2 -> 3; $a@7 -> 4; $n@7 -> 6; $e@5.2 -> 5",
    ),
    Case(
        "qualified names",
        "<?php\nnew \\A\\B\\C();\nnamespace\\f();\nD\\E::g();\n",
        None,
        "A@2 of NOTHING; B@2 of A; C@2 of B; E@4 of D; g@4 of E",
    ),
    Case(
        "constants",
        "<?php\nconst A = 1, B = 2;\ndefine('C', 3);\n",
        "constant A; constant B; constant C",
    ),
    Case(
        "argument names",
        "<?php\nf(name: $x, other: 1);\n",
        None,
        "name@2 of KEYWORD; other@2 of KEYWORD",
    ),
    Case(
        "classes of the same file",
        "<?php\nnamespace N;\nclass A {}\nclass B extends A { function m(A $a): A { return new A; } }\n",
        None,
        "A@4 -> 3; A@4.2 -> 3; A@4.3 -> 3; A@4.4 -> 3",
    ),
    Case(
        "an imported class",
        "<?php\nuse X\\Y;\nuse X\\Z as W;\n$a = new Y; $b = W::f();\n",
        None,
        "Y@4 -> 2; W@4 -> 3",
    ),
)
