"""Bash: what is defined, what names mean, what is sourced."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "both spellings of a function",
        "f() { echo 1; }\nfunction g { f; }\nfunction h() { g; }\nh\n",
        "function f; function g; function h",
        "f@2 -> 1; g@3 -> 2; h@4 -> 3; echo@1 -> -",
    ),
    Case(
        "variables of the file",
        "NAME=x\necho $NAME ${NAME}\nNAME=y\n",
        "variable NAME",
        "NAME@2 -> 1; NAME@2.2 -> 1; NAME@3 -> 1",
    ),
    Case(
        "local variables",
        "f() {\n  local a=1 b\n  echo $a $b\n}\necho $a\n",
        "function f; variable f.a; variable f.b",
        "a@3 -> 2; b@3 -> 2; a@5 -> -",
    ),
    Case(
        "a function's variable without local is the file's",
        "f() {\n  x=1\n}\necho $x\n",
        "function f; variable x",
        "x@4 -> 2",
    ),
    Case(
        "a function may be called where the name is local",
        "x=1\nf() {\n  echo $x\n}\n",
        None,
        "x@3 -> -",
    ),
    Case(
        "sourced files",
        'source ./lib.sh\n. "$DIR/x.sh"\n. /etc/profile\n',
        None,
        imports="shell_source ./lib.sh : *; shell_source $DIR/x.sh : *; shell_source /etc/profile : *",
    ),
    Case(
        "loops bind their variable",
        "for i in 1 2; do echo $i; done\n",
        "variable i",
        "i@1.2 -> 1",
    ),
    Case(
        "a function defined twice is doubtful",
        "f() { :; }\nf() { true; }\nf\n",
        "function f; function f",
        "f@3 -> 1?",
    ),
    Case(
        "special parameters are no names",
        'f() { echo "$1" "$@" $# $?; }\n',
        "function f",
    ),
    Case(
        "declared, exported and read-only variables",
        "declare -a LIST=(1 2)\nexport PATH_X=1\nreadonly LIMIT=3\nexport LATER\n",
        "variable LIST; variable PATH_X; constant LIMIT; variable LATER",
    ),
    Case(
        "names in strings, tests and arithmetic",
        'n=1\nif [[ "$n" -gt 0 ]]; then echo "a $n b"; fi\n(( n += 1 ))\n',
        None,
        "n@2 -> 1; n@2.2 -> 1; n@3 -> 1",
    ),
    Case(
        "local in a loop of a function",
        "f() {\n  local i\n  for i in a b; do echo $i; done\n  i=2\n}\n",
        "function f; variable f.i",
        "i@3 -> 2; i@3.2 -> 2; i@4 -> 2",
    ),
    Case(
        "subscripts and substitutions",
        "arr[0]=x\necho ${arr[0]} ${#arr} ${name:-default}\n",
        "variable arr",
        "arr@2 -> 1; name@2 -> -",
    ),
)
