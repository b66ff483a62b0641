# SPDX-License-Identifier: Apache-2.0
"""Reads a composite of zennit (0.5) as entries of ours; retrograde.Composite.from_zennit calls it. Classes are known by
their names, so that neither zennit nor PyTorch is imported here. What has no counterpart is refused by name.

zennit chooses by classes of modules, we by operators: two classes that become one operator (Conv1d and Conv2d) are one
entry, and zennit.layer.Sum stands for every addition. Modules without a rule get their gradient, as there.
"""

from ..errors import UsageError

RULES = {"Epsilon": ("epsilon", ()), "ZPlus": ("z-plus", ()), "Gamma": ("gamma", ("gamma",)),
         "AlphaBeta": ("alpha-beta", ("alpha", "beta")), "ZBox": ("z-box", ("low", "high")), "WSquare": ("w-square", ()),
         "Flat": ("flat", ()), "Norm": ("norm", ()), "Pass": ("pass", ()), "ReLUDeconvNet": ("deconvnet", ()),
         "ReLUGuidedBackprop": ("guided-backprop", ()), "ReLUBetaSmooth": ("beta-smooth", ("beta_smooth",))}
OF_ZENNIT = {"Convolution": {"op": ["Conv", "ConvTranspose"]}, "ConvolutionStandard": {"op": "Conv"},
             "ConvolutionTranspose": {"op": "ConvTranspose"}, "Linear": {"structure": "linear map"},
             "BatchNorm": {"op": "BatchNormalization"}, "AvgPool": {"structure": "average pool"},
             "MaxPool": {"structure": "max pool"}, "Activation": {"structure": "element-wise"},
             "Sum": {"structure": "sum of operands"}}
OF_TORCH = {"Linear": {"op": ["Gemm", "MatMul"], "structure": "linear map"}, "LayerNorm": {"op": "LayerNormalization"},
            "Softmax": {"op": "Softmax"}, "Flatten": {"structure": "shape map"}, "Identity": {"op": "Identity"},
            "ReLU": {"op": "Relu"}, "LeakyReLU": {"op": "LeakyRelu"}, "ELU": {"op": "Elu"}, "SELU": {"op": "Selu"},
            "CELU": {"op": "Celu"}, "GELU": {"op": "Gelu"}, "Sigmoid": {"op": "Sigmoid"}, "Tanh": {"op": "Tanh"},
            "Softplus": {"op": "Softplus"}, "Softsign": {"op": "Softsign"}, "Hardsigmoid": {"op": "HardSigmoid"},
            "Hardswish": {"op": "HardSwish"}, "Mish": {"op": "Mish"}, "PReLU": {"op": "PRelu"},
            "Hardtanh": {"op": "Clip"}, "ReLU6": {"op": "Clip"}}
for rank in ("1d", "2d", "3d"):
    OF_TORCH.update({"Conv" + rank: {"op": "Conv"}, "ConvTranspose" + rank: {"op": "ConvTranspose"},
                     "BatchNorm" + rank: {"op": "BatchNormalization"}, "AvgPool" + rank: {"op": "AveragePool"},
                     "AdaptiveAvgPool" + rank: {"structure": "average pool"}, "MaxPool" + rank: {"op": "MaxPool"}})
MERGING = {"MergeBatchNorm", "SequentialMergeBatchNorm", "NamedMergeBatchNorm", "VGGCanonizer", "ResNetCanonizer"}
LIKE_OURS = {"ResNetBottleneckCanonizer", "ResNetBasicBlockCanonizer"}  # they only make sums visible


class ZennitError(UsageError):
    """What of a zennit composite cannot be said here, and what to do."""


def closed_over(things):
    """Variables that functions of a rule closed over, by name; where zennit keeps a rule's parameters."""
    found, stack = {}, list(things)
    while stack:
        one = stack.pop()
        function = getattr(one, "modifier", one)
        code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
        for name, cell in zip(code.co_freevars if code else (), cells):
            found.setdefault(name, cell.cell_contents)
    return found


def stabiliser_of(rule, known):
    """Parameters of the denominator."""
    stabiliser = known.get("stabilizer_fn")
    name = type(stabiliser).__name__
    if name != "Stabilizer":
        raise ZennitError(f"the stabilizer of {type(rule).__name__} is {getattr(stabiliser, '__name__', name)}, a "
                          "function of its own, which a composite file cannot hold; use a number or zennit's Stabilizer")
    if stabiliser.dim is not None or (stabiliser.norm_scale and stabiliser.clip):
        raise ZennitError(f"the Stabilizer of {type(rule).__name__} scales by a norm over dim= or clips by one, which no "
                          "rule here does; leave dim= or clip= out")
    kind = "clip" if stabiliser.clip else "rms" if stabiliser.norm_scale else "add"
    return {"epsilon": float(stabiliser.epsilon), **({} if kind == "add" else {"stabiliser": kind})}


def bound_of(value, name):
    """A bound of z-box: a number, or one per channel from a tensor [1, C, 1, …] or one that is constant per channel."""
    if not hasattr(value, "shape"):
        return float(value)
    flat = value.detach().cpu().double()
    if flat.dim() >= 2 and flat.shape[0] == 1:
        flat = flat[0]
    flat = flat.reshape(flat.shape[0], -1) if flat.dim() else flat.reshape(1, 1)
    if not bool((flat == flat[:, :1]).all()):
        raise ZennitError(f"ZBox has a bound {name}= that differs from pixel to pixel; rules here have one number per "
                          "channel: pass a tensor of the shape (1, C, 1, 1)")
    numbers = [float(one) for one in flat[:, 0]]
    return numbers[0] if len(set(numbers)) == 1 else numbers


def bias_of(rule, name):
    """{"bias": "zero"} where zero_params says so. Flat leaves the bias out in any case."""
    zeroed = {str(one) for mod in getattr(rule, "param_modifiers", ()) for one in (getattr(mod, "zero_params", None) or ())}
    if name in ("Flat", "Norm"):
        return {}
    everywhere = all(getattr(mod, "zero_params", None) for mod in rule.param_modifiers[:1])
    if zeroed - {"bias"}:
        raise ZennitError(f"{name} zeroes {', '.join(sorted(zeroed - {'bias'}))}; rules here can leave out the bias only")
    return {"bias": "zero"} if zeroed and everywhere else {}


def rule_of(rule):
    """A rule object of zennit as {"name", "params"}."""
    name = type(rule).__name__
    if name not in RULES or not type(rule).__module__.startswith("zennit"):
        raise ZennitError(f"the rule {type(rule).__module__}.{name} has no counterpart here; write its entry by hand with "
                          "Composite.add (docs/composites.md lists the rules)")
    ours, wanted = RULES[name]
    if name in ("Pass", "ReLUDeconvNet", "ReLUGuidedBackprop"):
        return {"name": ours}
    if name == "ReLUBetaSmooth":
        return {"name": ours, "params": {"beta": float(rule.beta_smooth)}}
    known = closed_over([rule.gradient_mapper, rule.reducer, *rule.input_modifiers, *rule.param_modifiers])
    if not set(wanted) <= set(known):
        raise ZennitError(f"this zennit keeps the parameters of {name} in another way than 0.5 did; write its entry by "
                          "hand with Composite.add")
    params = stabiliser_of(rule, known) | bias_of(rule, name)
    for one in wanted:
        params[one] = bound_of(known[one], one) if name == "ZBox" else float(known[one])
    return {"name": ours, "params": params}


def matchers_of(types):
    """Fields of `match` for a class or a tuple of classes."""
    found = []
    for one in types if isinstance(types, tuple) else (types,):
        table = OF_ZENNIT if one.__module__.startswith("zennit") else OF_TORCH
        if one.__name__ not in table or not one.__module__.startswith(("zennit", "torch.nn")):
            raise ZennitError(f"the class {one.__module__}.{one.__name__} is no operator here; write its entry by hand "
                              "with Composite.add, by op, structure, name or scope")
        found.append(table[one.__name__])
    return found


def scopes_of(name):
    """The scopes of a module by its path: as torchcapture writes them, and as PyTorch's exporter names nodes."""
    parts, shown = name.split("."), []
    for part in parts:
        shown.append(f"{shown[-1]}.{part}" if part.isdigit() and shown else part)
    return list(dict.fromkeys(["/".join(parts), "/".join(shown)]))


def entries_of(composite):
    """Entries, in the order in which zennit asks."""
    if hasattr(composite, "composites"):
        return [entry for one in composite.composites for entry in entries_of(one)]
    if hasattr(composite, "name_map"):
        return [{"match": {"scope": scope}, "rule": rule_of(rule)}
                for names, rule in composite.name_map or () if rule is not None
                for name in names for scope in scopes_of(name)]
    if not hasattr(composite, "layer_map"):
        raise ZennitError(f"{type(composite).__name__} chooses by a function of its own, which cannot be read; use "
                          "LayerMapComposite, NameMapComposite or MixedComposite, or write the entries by hand")
    first = [{"match": {**match, "first": True}, "rule": rule_of(rule)}
             for types, rule in getattr(composite, "first_map", ()) for match in matchers_of(types)]
    return first + [{"match": match, "rule": rule_of(rule)}
                    for types, rule in composite.layer_map or () for match in matchers_of(types)]


def merges(canonizers):
    """Whether the canonizers merge BatchNorm."""
    found = False
    for one in canonizers or ():
        name = type(one).__name__
        if name not in MERGING | LIKE_OURS and not hasattr(one, "canonizers"):
            raise ZennitError(f"the canonizer {name} has no counterpart here; export the model in the form that it makes")
        found = found or name in MERGING or merges(getattr(one, "canonizers", ()))
    return found


def fields_of(composite):
    """Name, entries and rewrites to switch off, for retrograde.Composite."""
    entries = entries_of(composite)
    return {"name": type(composite).__name__, "entries": [*entries, {"match": {}, "rule": {"name": "gradient"}}],
            "no_rewrite": [] if merges(composite.canonizers) else ["merge-batchnorm"]}
