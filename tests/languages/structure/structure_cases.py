"""Labelled cases: the named parts of a text, in their order, as `kind path` separated by `; `."""

from typing import NamedTuple


class Case(NamedTuple):
    """One text with its parts."""

    language: str
    title: str
    source: str
    expected: str


CASES = (
    Case(
        "markdown",
        "headings nest by level",
        "# A\n## B\n### C\n## D\n",
        "heading A; heading A.B; heading A.B.C; heading A.D",
    ),
    Case("markdown", "a level may be left out", "# A\n### C\n## B\n", "heading A; heading A.C; heading A.B"),
    Case(
        "markdown",
        "underlined headings count",
        "Top\n===\n\nSub\n---\n\n# Next\n",
        "heading Top; heading Top.Sub; heading Next",
    ),
    Case(
        "markdown", "code and front matter have no headings", "---\ntitle: x\n---\n# A\n```sh\n# no\n```\n", "heading A"
    ),
    Case("markdown", "closing hashes are no text", "## A ##\n", "heading A"),
    Case("markdown", "markup stays", "# The `cpl` *tool*\n", "heading The `cpl` *tool*"),
    Case(
        *("markdown", "a quotation does not end the section around it"),
        "# A\n\n## B\n\n> # Q\n\n### C\n",
        "heading A; heading A.B; heading A.B.Q; heading A.B.C",
    ),
    Case("markdown", "a heading without text is not listed", "# A\n#\n## B\n", "heading A; heading B"),
    Case(
        "json", "keys nest", '{"a": {"b": 1, "c": {"d": null}}, "e": []}', "key a; key a.b; key a.c; key a.c.d; key e"
    ),
    Case(
        "json", "elements of lists have an index", '{"a": [1, {"b": 2}, [{"c": 3}]]}', "key a; key a.1.b; key a.2.0.c"
    ),
    Case("json", "a list at the top", '[{"a": 1}, {"a": 2}]', "key 0.a; key 1.a"),
    Case("json", "comments are understood", '{ // one\n "a": [ /* two */ {"b": 1}]}', "key a; key a.0.b"),
    Case(
        *("json", "keys below six others are left out"),
        '{"a":{"b":{"c":{"d":{"e":{"f":{"g":1}}}}}}}',
        "key a; key a.b; key a.b.c; key a.b.c.d; key a.b.c.d.e; key a.b.c.d.e.f",
    ),
    Case("yaml", "keys nest", "a:\n  b: 1\n  c:\n    d: 2\n", "key a; key a.b; key a.c; key a.c.d"),
    Case(
        *("yaml", "steps of a list"),
        "jobs:\n  build:\n    steps:\n      - name: x\n        run: |\n          a: b\n      - uses: y\n",
        "key jobs; key jobs.build; key jobs.build.steps; key jobs.build.steps.0.name; key jobs.build.steps.0.run; "
        "key jobs.build.steps.1.uses",
    ),
    Case(
        "yaml",
        "quotes and flow mappings",
        "\"a b\": {c: 1, 'd': [x, {e: 2}]}\n",
        "key a b; key a b.c; key a b.d; key a b.d.1.e",
    ),
    Case("yaml", "anchors and documents", "a: &x\n  b: 1\nc: *x\n---\nd: 2\n", "key a; key a.b; key c; key d"),
    Case("yaml", "a key that is a list has no name", "[a, b]: 1\nc: 2\n", "key c"),
    Case("toml", "tables and keys", "x = 1\n[a.b]\nc = 2\nd.e = 3\n", "key x; block a.b; key a.b.c; key a.b.d.e"),
    Case(
        *("toml", "lists of tables are numbered"),
        "[[p]]\nn = 1\n[p.s]\nq = 1\n[[p]]\nn = 2\n",
        "block p.0; key p.0.n; block p.0.s; key p.0.s.q; block p.1; key p.1.n",
    ),
    Case("toml", "quoted keys and inline tables", '"a b" = { c = 1 }\n["d.e".f]\n', "key a b; key a b.c; block d.e.f"),
    Case(
        *("html", "headings, ids and custom elements"),
        "<body id='m'><h1>A <b>b</b></h1><div><my-el></my-el></div><p id=p>x</p></body>",
        "block m; heading m.A b; block m.my-el; block m.p",
    ),
    Case("html", "an id in a template is none", '<p id="{{ x }}">a</p><h2></h2>', ""),
    Case("html", "attributes that only end like id", '<p data-id="x" valid="y">a</p>', ""),
    Case(
        *("css", "rules, media, keyframes, custom properties"),
        ":root { --a: 1; color: red }\n.b, .c { }\n@media print { .d { } }\n@keyframes spin { from { } }\n",
        "block :root; variable :root.--a; block .b, .c; block @media print; block @media print..d; block spin",
    ),
    Case("css", "nested rules", ".a { &:hover { x: y } }", "block .a; block .a.&:hover"),
    Case("css", "an import has no block", '@import "x";\n@font-face { a: b }', "block @font-face"),
    Case(
        *("sql", "tables with columns, views, indexes"),
        'CREATE TABLE a.t (id int, "n" text);\nCREATE VIEW v AS SELECT 1;\nCREATE INDEX i ON t (id);\n',
        "block a.t; field a.t.id; field a.t.n; block v; block i",
    ),
    Case(
        "sql", "changes are statements", "ALTER TABLE t ADD COLUMN x int;\nDROP TABLE u;\n", "statement t; statement u"
    ),
    Case("sql", "queries have no name, their parts have", "WITH q AS (SELECT 1) SELECT * FROM q;\n", "block q"),
    Case(
        *("sql", "functions"),
        "CREATE FUNCTION f(a int) RETURNS int AS $$ select 1 $$ LANGUAGE sql;\n",
        "block f",
    ),
    Case(
        *("hcl", "blocks with labels"),
        'resource "aws_x" "web" {\n  tags = { a = 1 }\n  net { b = 2 }\n}\nlocals {\n  l = 1\n}\n',
        "block resource.aws_x.web; key resource.aws_x.web.tags; key resource.aws_x.web.tags.a; "
        "block resource.aws_x.web.net; key resource.aws_x.web.net.b; block locals; key locals.l",
    ),
    Case("hcl", "lists of objects", "a = [{ b = 1 }, { b = 2 }]\n", "key a; key a.0.b; key a.1.b"),
    Case("hcl", "a computed key is left out", "a = { (var.x) = 1, b = 2 }\n", "key a; key a.b"),
    Case(
        *("dockerfile", "stages and instructions"),
        "ARG V=1\nFROM a:1 AS base\nRUN x\nENV A=1\nFROM base\nCOPY --from=base a b\n",
        "statement ARG; key ARG.V; block base; statement base.RUN; statement base.ENV; key base.ENV.A; block base; "
        "statement base.COPY",
    ),
    Case(
        "dockerfile",
        "a stage without a name has that of its image",
        "FROM python:3.12-slim\nCMD x\n",
        "block python:3.12-slim; statement python:3.12-slim.CMD",
    ),
    Case(
        *("graphql", "types"),
        "type A { f(x: Int): B! }\ninput I { a: Int }\nenum E { X Y }\n"
        "interface N { i: ID }\nunion U = A | B\nscalar D\n",
        "type A; field A.f; type I; field I.a; enum E; constant E.X; constant E.Y; interface N; field N.i; "
        "type U; type D",
    ),
    Case("graphql", "extensions", "extend type A { g: Int }\n", "type A; field A.g"),
    Case("graphql", "operations", "query Q { a { b } }\nfragment F on A { f }\n{ c }\n", "block Q; block F"),
    Case(
        *("svelte", "script, style, components"),
        "<script>let a</script>\n<Foo><Bar.Baz/></Foo>\n{#if a}<h1 id='t'>T</h1>{/if}\n<style>.x{}</style>\n",
        "block script; block Foo; block Foo.Bar.Baz; heading T; block style",
    ),
    Case("svelte", "snippets", "{#snippet row(x)}<li id='a'>b</li>{/snippet}\n", "block row; block row.a"),
    Case(
        *("nix", "bindings"),
        '{ pkgs }: let x = 1; in { a.b = 2; "c d" = { e = 3; }; inherit f; inherit (pkgs) g; l = [ { k = 1; } ]; }',
        "key x; key a.b; key c d; key c d.e; key f; key g; key l; key l.0.k",
    ),
)
