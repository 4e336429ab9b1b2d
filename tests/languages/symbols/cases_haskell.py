"""Haskell: what is defined, what names mean, what is imported."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "several equations are one function",
        "module M where\n\nfact :: Int -> Int\nfact 0 = 1\nfact n = n * fact (n - 1)\n",
        "module M; function fact; parameter fact.n",
        "n@5.2 -> 5; fact@5.2 -> 3; n@5.3 -> 5; fact@4 -> 3",
    ),
    Case(
        "data types and constructors",
        "module M where\n\ndata Shape = Circle Double | Square { side :: Double }\n"
        "newtype Age = Age { unAge :: Int }\ntype Name = String\n",
        "module M; type Shape; constant Shape.Circle; constant Shape.Square; field Shape.side; type Age; "
        "constant Age.Age; field Age.unAge; type Name",
    ),
    Case(
        "classes and instances",
        "module M where\n\nclass Pretty a where\n  pretty :: a -> String\n"
        "  size :: a -> Int\n\ninstance Pretty Bool where\n  pretty b = show b\n",
        "module M; trait Pretty; type Pretty.a; method Pretty.pretty; method Pretty.size; method Bool.pretty; "
        "parameter Bool.pretty.b",
        "b@8.2 -> 8",
    ),
    Case(
        "imports",
        "module M where\n\nimport Data.List\nimport qualified Data.Map as Map\n"
        "import Data.Char (toUpper, isSpace)\nimport Prelude hiding (head)\n",
        "module M",
        imports="haskell_import Data.List : *; haskell_import Data.Map as Map; haskell_import Data.Char : toUpper; "
        "haskell_import Data.Char : isSpace; haskell_import Prelude : *",
    ),
    Case(
        "qualified names",
        "module M where\n\nimport qualified Data.Map as Map\n\nf m = Map.lookup 1 m\n",
        None,
        "lookup@5 of Map; m@5.2 -> 5; Map@5 -> 3",
    ),
    Case(
        "where and let",
        "module M where\n\nf x = g y + z\n  where\n    y = x + 1\n    z = let w = y in w\n",
        "module M; function f; parameter f.x; variable f.y; variable f.z; variable f.z.w",
        "y@3 -> 5; z@3 -> 6; x@5 -> 3; w@6.2 -> 6; y@6 -> 5",
    ),
    Case(
        "patterns",
        "module M where\n\nf (Just a, b : bs) c@(_, d) = a b bs c d\n",
        "module M; function f; parameter f.a; parameter f.b; parameter f.bs; parameter f.c; parameter f.d",
        "a@3.2 -> 3; b@3.2 -> 3; bs@3.2 -> 3; c@3.2 -> 3; d@3.2 -> 3; Just@3 -> -",
    ),
    Case(
        "lambdas and case",
        "module M where\n\nf = map (\\x -> x + 1)\n\ng v = case v of\n  Just y -> y\n  Nothing -> v\n",
        None,
        "x@3.2 -> 3; y@6.2 -> 6; v@7 -> 5",
    ),
    Case(
        "do blocks",
        "module M where\n\nmain = do\n  l <- getLine\n  let n = length l\n  print n\n",
        None,
        "l@5 -> 4; n@6 -> 5",
    ),
    Case(
        "a local name shadows",
        "module M where\n\nx = 1\n\nf x = x\n\ng = x\n",
        None,
        "x@5.2 -> 5; x@7 -> 3",
    ),
    Case(
        "types of the same file",
        "module M where\n\ndata T = A | B\n\nf :: T -> T\nf A = B\n",
        None,
        "T@5 -> 3; T@5.2 -> 3; A@6 -> 3; B@6 -> 3",
    ),
    Case(
        "composition is no member",
        "module M where\n\nf g h = g . h\nk g h = g.h\n",
        None,
        "h@3.2 of NOTHING; h@4.2 of NOTHING; h@4.2 -> 4",
    ),
    Case(
        "a field after a dot, where the file asks for it",
        "{-# LANGUAGE OverloadedRecordDot #-}\nmodule M where\n\nf r = r.name\n",
        None,
        "name@4 of r.2",
    ),
    Case(
        "operators are defined like functions",
        "module M where\n\n(<+>) :: Int -> Int -> Int\na <+> b = a + b\n",
        "module M; function <+>; parameter <+>.a; parameter <+>.b",
        "a@4.2 -> 4; b@4.2 -> 4",
    ),
)
