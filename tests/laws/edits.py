"""Programs that differ in one place each, for the law that a key is never fooled.

A program defines ``f(x)``, or a dataset ``ds`` itself. ``@`` is the place, where one or the other text stands. Beside it lie the
modules ``cfg`` and ``pkg.sub``, where they are given.
"""

from __future__ import annotations

import dataclasses
from typing import Final

__all__ = ["EDITS", "WAYS", "Edit"]


@dataclasses.dataclass(frozen=True)
class Edit:
    """A program, and the two texts."""

    main: str
    cfg: str = ""
    sub: str = ""
    texts: tuple[str, str] = ("2", "3")
    file: str = ""  # the content of a.txt


_F_OF_OBJECT: Final = "\ndef f(x): return obj(x)\n"

EDITS: Final[dict[str, Edit]] = {
    # --- functions
    "code": Edit("def f(x): return x * @"),
    "a global": Edit("K = @\ndef f(x): return x * K"),
    "a default": Edit("def f(x, k=@): return x * k"),
    "a keyword's default": Edit("def f(x, *, k=@): return x * k"),
    "a closure": Edit("def make(k):\n    return lambda x: x * k\nf = make(@)"),
    "a function that is called": Edit("def g(x): return x * @\ndef f(x): return g(x)"),
    "an attribute of a function": Edit("def f(x): return x * f.s\nf.s = @"),
    "what is caught": Edit(
        "def f(x):\n    try:\n        return {}[x]\n    except @:\n        return 1\n    except Exception:\n        return 2",
        texts=("KeyError", "IndexError"),
    ),
    "which part is tried": Edit(
        "def f(x):\n@",
        texts=(
            "    try:\n        y = int('a')\n    except ValueError:\n        y = 1\n    return y",
            "    y = 3\n    try:\n        int('a')\n    except ValueError:\n        y = 1\n    return y * 2",
        ),
    ),
    "a constant of another type": Edit("def f(x): return str(@)", texts=("1", "True")),
    "the sign of zero": Edit("def f(x): return str(@)", texts=("0.0", "-0.0")),
    "a remembering function": Edit(
        "import functools\n@functools.lru_cache\ndef g(x): return x * @@\ndef f(x): return g(int(x))"
    ),
    "a function by type": Edit(
        "import functools\n@functools.singledispatch\ndef g(x): return 0\n@g.register\ndef _(x: int): return x * @@\n"
        "def f(x): return g(int(x))"
    ),
    "an annotation": Edit("def g(a: @): pass\ndef f(x): return str(g.__annotations__['a'])", texts=("int", "str")),
    "a builtin's object": Edit("f = {0: @, 1: 5}.get"),
    "a bound method of C": Edit("f = (@).__add__"),
    "a ufunc of one's own": Edit("import numpy as np\nf = np.frompyfunc(lambda x: int(x) * @, 1, 1)"),
    "vectorized by NumPy": Edit("import numpy as np\ng = np.vectorize(lambda x: x * @)\ndef f(x): return int(g(x))"),
    "an environment's variable": Edit(
        "import os\nos.environ['KEY_TEST'] = '@'\ndef f(x): return os.environ['KEY_TEST']"
    ),
    "what eval is given": Edit("K = @\ndef f(x): return eval('K')"),
    "a name among globals": Edit("K = @\ndef f(x): return globals()['K']"),
    # --- modules
    "a module's attribute": Edit("import cfg\ndef f(x): return x * cfg.S", "S = @"),
    "a module's function": Edit("import cfg\ndef f(x): return cfg.g(x)", "def g(x): return x * @"),
    "what a module's function reads": Edit("import cfg\ndef f(x): return cfg.g(x)", "S = @\ndef g(x): return x * S"),
    "an import within": Edit("def f(x):\n    from cfg import g\n    return g(x)", "def g(x): return x * @"),
    "a module within": Edit("def f(x):\n    import cfg\n    return x * cfg.S", "S = @"),
    "a module within, renamed": Edit("def f(x):\n    import cfg as c\n    return x * c.S", "S = @"),
    "a module's alias": Edit("import cfg\nc = cfg\ndef f(x): return x * c.S", "S = @"),
    "an alias within": Edit("import cfg\ndef f(x):\n    c = cfg\n    return x * c.S", "S = @"),
    "a chain": Edit("import pkg.sub\ndef f(x): return x * pkg.sub.S", sub="S = @"),
    "a chain within": Edit("def f(x):\n    import pkg.sub\n    return x * pkg.sub.S", sub="S = @"),
    "a chain within, renamed": Edit("def f(x):\n    import pkg.sub as s\n    return x * s.S", sub="S = @"),
    "a module from a package": Edit("def f(x):\n    from pkg import sub\n    return x * sub.S", sub="S = @"),
    "an import far inside": Edit("def f(x):\n    import cfg\n    return (lambda y: y * cfg.S)(x)", "S = @"),
    "getattr": Edit("import cfg\ndef f(x): return x * getattr(cfg, 'S')", "S = @"),
    "a module in an object": Edit(
        "import cfg, types\nn = types.SimpleNamespace(m=cfg)\ndef f(x): return x * n.m.S", "S = @"
    ),
    "a module in a closure": Edit("import cfg\ndef make(m):\n    return lambda x: x * m.S\nf = make(cfg)", "S = @"),
    "a module's __getattr__": Edit("import cfg\ndef f(x): return x * cfg.S", "def __getattr__(name): return @"),
    "an import by name": Edit("import importlib\ndef f(x): return x * importlib.import_module('cfg').S", "S = @"),
    "the modules' table": Edit("import cfg, sys\ndef f(x): return x * sys.modules['cfg'].S", "S = @"),
    # --- classes
    "an object's attribute": Edit(
        "class C:\n    def __init__(self): self.s = @\n    def __call__(self, x): return x * self.s\nobj = C()"
        + _F_OF_OBJECT
    ),
    "a class's attribute": Edit(
        "class C:\n    S = @\n    def __call__(self, x): return x * self.S\nobj = C()" + _F_OF_OBJECT
    ),
    "a class's attribute, by the class": Edit("class C: S = @\ndef f(x): return x * C.S"),
    "a method": Edit("class C:\n    def __call__(self, x): return x * @\nobj = C()" + _F_OF_OBJECT),
    "a base's method": Edit("class B:\n    def m(self, x): return x * @\nclass C(B): pass\ndef f(x): return C().m(x)"),
    "a base's attribute": Edit("class B: S = @\nclass C(B): pass\ndef f(x): return x * C.S"),
    "a class within": Edit("class C:\n    class D: S = @\ndef f(x): return x * C.D.S"),
    "a metaclass": Edit(
        "class M(type):\n    def m(cls, x): return x * @\nclass C(metaclass=M): pass\ndef f(x): return C.m(x)"
    ),
    "a property": Edit("class C:\n    @property\n    def s(self): return @@\ndef f(x): return x * C().s"),
    "a cached property": Edit(
        "import functools\nclass C:\n    @functools.cached_property\n    def s(self): return @@\ndef f(x): return x * C().s"
    ),
    "a class method": Edit("class C:\n    @classmethod\n    def s(cls): return @@\ndef f(x): return x * C.s()"),
    "a static method": Edit("class C:\n    @staticmethod\n    def s(): return @@\ndef f(x): return x * C.s()"),
    "a remembering method": Edit(
        "import functools\nclass C:\n    @functools.lru_cache\n    def s(self): return @@\ndef f(x): return x * C().s()"
    ),
    "a descriptor": Edit("class D:\n    def __get__(self, o, t): return @\nclass C: s = D()\ndef f(x): return x * C.s"),
    "an answer to every name": Edit(
        "class C:\n    def __getattr__(self, n): return @\nobj = C()\ndef f(x): return x * obj.anything"
    ),
    "slots of a base": Edit(
        "class B: __slots__ = ('s',)\nclass C(B): pass\nobj = C()\nobj.s = @\ndef f(x): return x * obj.s"
    ),
    "an enum's value": Edit("import enum\nclass E(enum.Enum): A = @\ndef f(x): return x * E.A.value"),
    "an enum's value, by closure": Edit(
        "import enum\nclass E(enum.Enum): A = @\ndef make(a):\n    return lambda x: x * a.value\nf = make(E.A)"
    ),
    "an enum's method": Edit(
        "import enum\nclass E(enum.IntEnum):\n    A = 1\n    def m(self): return @\ndef f(x): return x * E.A.m()"
    ),
    "what subclasses leave": Edit(
        "class B:\n    made = []\n    def __init_subclass__(cls, **k): B.made.append(cls)\nclass C(B): S = @\ndef f(x): return x * B.made[0].S"
    ),
    "a dataclass's default": Edit(
        "import dataclasses\n@dataclasses.dataclass\nclass C: s: int = @@\ndef f(x): return x * C().s"
    ),
    "a class made by a call": Edit(
        "import dataclasses\nC = dataclasses.make_dataclass('C', [('s', int, @)])\ndef f(x): return x * C().s"
    ),
    "a class that says it is another's": Edit(
        "class C:\n    S = @\n    __module__ = 'numpy'\ndef f(x): return x * C.S"
    ),
    "the hash of a key": Edit(
        "class K:\n    def __eq__(self, o): return @\n    __hash__ = lambda self: 1\nt = {K(): 5}\ndef f(x): return str(t.get(K(), 7))",
        texts=("True", "False"),
    ),
    # --- containers
    "a default factory": Edit("import collections\nd = collections.defaultdict(lambda: @)\ndef f(x): return d['a']"),
    "__missing__": Edit("class D(dict):\n    def __missing__(self, k): return @\nd = D()\ndef f(x): return d['a']"),
    "a list's method": Edit("class L(list):\n    def m(self): return @\nl = L()\ndef f(x): return l.m()"),
    "a named tuple's method": Edit(
        "import typing\nclass N(typing.NamedTuple):\n    a: int\n    def m(self): return @\nn = N(1)\ndef f(x): return n.m()"
    ),
    "an attribute of a text": Edit("class S(str): pass\ns = S('a')\ns.k = @\ndef f(x): return s.k"),
    "a method of a number": Edit("class I(int):\n    def m(self): return @\ni = I(1)\ndef f(x): return i.m()"),
    "the order of an ordered dict": Edit(
        "import collections\nd = collections.OrderedDict(a=1, b=2)\nd.move_to_end('@')\ndef f(x): return next(iter(d))",
        texts=("a", "b"),
    ),
    "a set of objects": Edit(
        "class C:\n    def __init__(self, s): self.s = s\nl = {C(1), C(@), C(5)}\ndef f(x): return sum(c.s for c in l)"
    ),
    "a deque's length": Edit("import collections\nd = collections.deque([1, 2, 3, 4], @)\ndef f(x): return len(d)"),
    # --- hidden in C
    "a partial": Edit("import functools, operator\nf = functools.partial(operator.mul, @)"),
    "an itemgetter": Edit("import operator\ng = operator.itemgetter(@)\ndef f(x): return g('abcdef')"),
    "an attrgetter": Edit(
        "import operator\ng = operator.attrgetter('@')\ndef f(x): return str(g(1j + 2))", texts=("real", "imag")
    ),
    "a methodcaller": Edit("import operator\ng = operator.methodcaller('rjust', @)\ndef f(x): return g('a')"),
    "random numbers": Edit("import random\nr = random.Random(@)\ndef f(x): return r.random()"),
    "random numbers' method": Edit("import random\nr = random.Random(@).random\ndef f(x): return r()"),
    "random numbers of NumPy": Edit(
        "import numpy as np\nr = np.random.default_rng(@)\ndef f(x): return float(r.random())"
    ),
    "the old ones": Edit("import numpy as np\nr = np.random.RandomState(@)\ndef f(x): return float(r.rand())"),
    "a date": Edit("import datetime\nd = datetime.datetime(2020, 1, @)\ndef f(x): return d.day"),
    "a decimal": Edit("import decimal\nd = decimal.Decimal('@')\ndef f(x): return str(d)"),
    "a fraction": Edit("import fractions\nd = fractions.Fraction(1, @)\ndef f(x): return str(d)"),
    "a pattern": Edit("import re\np = re.compile('@')\ndef f(x): return str(p.sub('x', '23'))"),
    "an iterator": Edit("i = iter([@, 5])\ndef f(x): return next(i, 0)"),
    "a generator": Edit("def g():\n    while True: yield @\ni = g()\ndef f(x): return next(i)"),
    "bytes that change": Edit("b = bytearray([@])\ndef f(x): return b[0]"),
    "a number of C's": Edit("import ctypes\nc = ctypes.c_int(@)\ndef f(x): return c.value"),
    "an open file": Edit("import io\nb = io.BytesIO(b'@')\ndef f(x): return b.getvalue()"),
    "a weak reference": Edit(
        "import weakref\nclass C: pass\nc = C()\nc.s = @\nr = weakref.ref(c)\ndef f(x): return r().s"
    ),
    # --- NumPy
    "an array": Edit("import numpy as np\na = np.array([@])\ndef f(x): return x * a[0]"),
    "a mask": Edit(
        "import numpy as np\na = np.ma.array([1, 2], mask=[0, @])\ndef f(x): return int(a.sum())", texts=("0", "1")
    ),
    "field names": Edit(
        "import numpy as np\na = np.zeros(1, [('@', 'i4'), ('z', 'i4')])\ndef f(x): return a.dtype.names[0]",
        texts=("a", "b"),
    ),
    "texts of any length": Edit(
        "import numpy as np\na = np.array(['@' * 40], np.dtypes.StringDType())\ndef f(x): return str(a[0])"
    ),
    "an array of objects": Edit("import numpy as np\na = np.array([{'s': @}], object)\ndef f(x): return a[0]['s']"),
    "a view": Edit("import numpy as np\na = np.arange(9)[::@]\ndef f(x): return int(a[1])"),
    "dates": Edit("import numpy as np\na = np.array(['2020-01-0@'], 'M8[D]')\ndef f(x): return str(a[0])"),
    # --- files, whose content is edited
    "a file by a reader": Edit("ds = hr.TextLineDataset('a.txt')", file="@"),
    "bytes in slices": Edit("ds = hr.Dataset.from_tensor_slices([b'a.txt']).map(lambda p: open(p).read())", file="@"),
    "an array of bytes": Edit(
        "import numpy as np\nds = hr.Dataset.from_tensor_slices(np.array([b'a.txt'])).map(lambda p: open(p).read())",
        file="@",
    ),
    "an array of texts": Edit(
        "import numpy as np\nds = hr.Dataset.from_tensor_slices(np.array(['a.txt'], np.dtypes.StringDType())).map(lambda p: open(p).read())",
        file="@",
    ),
    "a path in a list": Edit(
        "import pathlib\nl = [pathlib.Path('a.txt')]\ndef f(x): return l[0].read_text()", file="@"
    ),
    "a source of names": Edit("ds = hr.Dataset.source(['a.txt']).map(lambda p: open(str(p)).read())", file="@"),
    "a file in a dict's key": Edit("D = {'a.txt': 1}\ndef f(x): return [open(p).read() for p in D]", file="@"),
    "a file in a constant": Edit("def f(x): return open('a.txt').read()", file="@"),
    "a reader in a function": Edit(
        "ds = hr.Dataset.range(1).flat_map(lambda i: hr.TextLineDataset('a.txt'))", file="@"
    ),
    "a reader of a map": Edit("ds = hr.TextLineDataset(hr.Dataset.range(1).map(lambda i: 'a.txt'))", file="@"),
    "a file in a global": Edit("P = b'a.txt'\ndef f(x): return open(P).read()", file="@"),
    # --- datasets
    "an argument": Edit("ds = hr.Dataset.range(@)"),
    "the order of inputs": Edit(
        "a, b = hr.Dataset.range(2), hr.Dataset.range(5, 7)\nds = hr.Dataset.zip(@)", texts=("a, b", "b, a")
    ),
    "a seed of the run": Edit("ds = hr.Dataset.range(9).shuffle(9).with_options(hr.Options(seed=@))"),
    "a seed": Edit("ds = hr.Dataset.range(9).shuffle(9, seed=@)"),
    "an inner dataset": Edit("inner = hr.Dataset.range(@)\nds = hr.Dataset.range(2).flat_map(lambda x: inner)"),
}

# Ways for a program to use f.
WAYS: Final[dict[str, str]] = {
    "by itself": "ds = hr.Dataset.range(2).map(f)",
    "in a function": "ds = hr.Dataset.range(2).map(lambda x: f(x))",
    "in a table": "_t = {'k': [(f,)]}\nds = hr.Dataset.range(2).map(lambda x: _t['k'][0][0](x))",
    "in an object": (
        "class _W:\n    def __init__(self, g): self.g = g\n    def __call__(self, x): return self.g(x)\n"
        "ds = hr.Dataset.range(2).map(_W(f))"
    ),
    "in a partial": "import functools\nds = hr.Dataset.range(2).map(functools.partial(lambda g, x: g(x), f))",
    "as a default": "def _g(x, g=f): return g(x)\nds = hr.Dataset.range(2).map(_g)",
    "wrapped": (
        "import functools\n@functools.wraps(f, ('__name__',), ())\ndef _g(*a): return f(*a)\nds = hr.Dataset.range(2).map(_g)"
    ),
    "in a plan of a function": "ds = hr.Dataset.range(2).flat_map(lambda x: hr.Dataset.from_tensors(x).map(f))",
}
