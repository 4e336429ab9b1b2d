"""Lua: what is defined, what names mean, what is required."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "functions in all spellings",
        "local function a(x) return x end\nfunction b() end\n"
        "function M.c() end\nfunction M:d(y) return self.z + y end\n"
        "M.e = function(w) return w end\nlocal f = function() end\n",
        "function a; parameter a.x; function b; function M.c; method M.d; parameter M.d.y; function M.e; "
        "parameter M.e.w; function f",
        "x@1.2 -> 1; y@4.2 -> 4; w@5.2 -> 5; c@3 of M; d@4 of M; z@4 of THIS",
    ),
    Case(
        "locals",
        "local a, b = 1, 2\nlocal c <const> = a\nprint(a + b + c)\n",
        "variable a; variable b; variable c",
        "a@2 -> 1; b@3 -> 1; c@3 -> 2; print@3 -> -",
    ),
    Case(
        "a local is seen after its statement",
        "local x = 1\ndo\n  local x = x + 1\n  print(x)\nend\nprint(x)\n",
        None,
        "x@3.2 -> 1; x@4 -> 3; x@6 -> 1",
    ),
    Case(
        "two locals of one name are doubtful",
        "local x = 1\nlocal x = 2\nprint(x)\n",
        None,
        "x@3 -> 1?",
    ),
    Case(
        "requires",
        "local json = require('cjson.safe')\nlocal x = require \"a.b\"\nrequire(name)\nreturn json.decode(x.y)\n",
        "",
        "json@4 -> 1; decode@4 of json; x@4 -> 2; y@4 of x",
        "lua_require cjson.safe as json; lua_require a.b as x",
    ),
    Case(
        "loops",
        "for i = 1, 3 do print(i) end\nfor k, v in pairs(t) do print(k, v) end\nprint(i)\n",
        "variable i; variable k; variable v",
        "i@1.2 -> 1; k@2.2 -> 2; v@2.2 -> 2; i@3 -> -",
    ),
    Case(
        "globals are doubtful",
        "count = 1\nfunction inc() count = count + 1 end\n",
        "variable count; function inc",
        "count@1 -> 1?; count@2 -> 1?",
    ),
    Case(
        "upvalues",
        "local n = 0\nlocal function inc()\n  n = n + 1\n  return inc\nend\n",
        None,
        "n@3 -> 1; n@3.2 -> 1; inc@4 -> 2",
    ),
    Case(
        "a local function is seen in itself, a local variable is not",
        "local f = function() return f end\n",
        None,
        "f@1.2 -> -",
    ),
    Case(
        "members",
        "local t = {}\nt.a.b = 1\nt:m()\nf().x = 2\nt[1].y = 3\n('s'):rep(2)\n",
        None,
        "a@2 of t; b@2 of a; m@3 of t; x@4 of EXPRESSION; y@5 of EXPRESSION; rep@6 of EXPRESSION",
    ),
    Case(
        "fields of tables",
        "local M = { a = 1, b = function(x) return x end }\n",
        None,
        "a@1 of KEYWORD; b@1 of KEYWORD; x@1.2 -> 1",
    ),
    Case(
        "blocks end their locals",
        "if a then\n  local z = 1\n  print(z)\nelse\n  print(z)\nend\nrepeat local q = 1 until q\n",
        None,
        "z@3 -> 2; z@5 -> -; q@7.2 -> 7",
    ),
    Case(
        "labels are no names",
        "::again::\nlocal x = 1\ngoto again\n",
        "variable x",
    ),
)
