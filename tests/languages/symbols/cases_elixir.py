"""Elixir: what is defined, what names mean, what is imported."""

from languages.symbols.labels import Case

CASES = (
    Case(
        "a module with functions",
        "defmodule App.User do\n  def name(user), do: user\n  defp secret(x) do\n    x\n  end\n"
        "  defmacro m(ast) do\n    ast\n  end\nend\n",
        "module App.User; function App.User.name; parameter App.User.name.user; function App.User.secret; "
        "parameter App.User.secret.x; macro App.User.m; parameter App.User.m.ast",
        "user@2.2 -> 2; x@4 -> 3; ast@7 -> 6",
    ),
    Case(
        "imports",
        "defmodule A do\n  alias B.C\n  alias B.D, as: E\n  alias F.{G, H}\n"
        "  import Ecto.Query\n  require Logger\n  use Phoenix, :x\nend\n",
        None,
        imports="elixir_alias B.C as C; elixir_alias B.D as E; elixir_alias F.G as G; elixir_alias F.H as H; "
        "elixir_import Ecto.Query : *; elixir_require Logger; elixir_use Phoenix",
    ),
    Case(
        "clauses of one arity are one function",
        "defmodule A do\n  def f(0), do: 1\n  def f(n), do: n\n  def f(a, b), do: a + b\nend\n",
        "module A; function A.f; parameter A.f.n; function A.f; parameter A.f.a; parameter A.f.b",
        "n@3.2 -> 3; b@4.2 -> 4",
    ),
    Case(
        "structs and attributes",
        "defmodule A do\n  @timeout 5\n  defstruct [:name, age: 1]\n  def t, do: @timeout\nend\n",
        "module A; constant A.timeout; struct A.defstruct; field A.name; field A.age; function A.t",
    ),
    Case(
        "variables bound once",
        "defmodule A do\n  def f(x) do\n    y = x + 1\n    y * 2\n  end\nend\n",
        "module A; function A.f; parameter A.f.x; variable A.f.y",
        "x@3 -> 2; y@4 -> 3",
    ),
    Case(
        "a variable bound again is doubtful",
        "defmodule A do\n  def f(x) do\n    y = x\n    y = y + 1\n    y\n  end\nend\n",
        None,
        "y@5 -> 3?; x@3 -> 2",
    ),
    Case(
        "patterns",
        "defmodule A do\n  def f(%{name: n, id: ^p} = m, [h | t], {:ok, v}) do\n    {n, m, h, t, v}\n  end\nend\n",
        None,
        "n@3 -> 2; m@3 -> 2; h@3 -> 2; t@3 -> 2; v@3 -> 2; p@2 -> -",
    ),
    Case(
        "anonymous functions and cases",
        "defmodule A do\n  def f(xs) do\n    Enum.map(xs, fn x -> x + 1 end)\n"
        "    case xs do\n      [y] -> y\n      z -> z\n    end\n  end\nend\n",
        None,
        "x@3.2 -> 3; y@5.2 -> 5; z@6.2 -> 6; map@3 of Enum; xs@3 -> 2",
    ),
    Case(
        "calls of other modules",
        "defmodule A do\n  def f(m), do: App.Repo.get(m.id, :erlang.now())\nend\n",
        None,
        "Repo@2 of App; get@2 of Repo; id@2 of m.2; now@2 of EXPRESSION",
    ),
    Case(
        "an alias",
        "defmodule A do\n  alias B.C\n  def f, do: C.g()\nend\n",
        None,
        "C@3 -> 2; g@3 of C",
    ),
    Case(
        "nested modules and protocols",
        "defmodule A do\n  defmodule B do\n    def f, do: 1\n  end\nend\ndefprotocol P do\n  def g(x)\nend\n",
        "module A; module A.B; function A.B.f; interface P; function P.g; parameter P.g.x",
    ),
    Case(
        "guards and defaults",
        "defmodule A do\n  def f(x, y \\\\ 1) when x > y, do: x\nend\n",
        "module A; function A.f; parameter A.f.x; parameter A.f.y",
        "x@2.2 -> 2; y@2.2 -> 2; x@2.3 -> 2",
    ),
    Case(
        "comprehensions and with",
        "defmodule A do\n  def f(xs) do\n    for x <- xs, do: x\n"
        "    with {:ok, a} <- g(xs), b = a do\n      b\n    end\n  end\nend\n",
        None,
        "x@3.2 -> 3; a@4.2 -> 4; b@5 -> 4",
    ),
)
