// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/matrix.h"
#include "core/tape/array/array.h"
#include "tests/core/tape/machine.h"

#include <concepts>
#include <memory>
#include <string>

/// Operators over arrays of any scalar, each with the reverse rule that is its derivative (`dot_zrule` has a relevance
/// rule instead, `sym` draws symbols). An operator that asks more of a scalar than + and × is refused for scalars that
/// have no such thing.
namespace retro::tape
{

/// Which operator, with its settings.
template <class K>
struct OperatorSpec
{
    /// add mul scale matmul transpose sum broadcast concat0 gather0 relu inv exp sigmoid log payload_scale dot_zrule
    /// sym
    std::string name;
    K factor = K(1);                      ///< of scale
    tensor::Shape shape = {};             ///< of broadcast
    std::vector<std::int64_t> index = {}; ///< of gather0
    std::string key = {};                 ///< payload of payload_scale; symbol of sym
};

namespace detail
{

template <class K>
concept Invertible = requires(K k)
{
    {
        inverse(k)
        } -> std::same_as<K>;
};
template <class K>
concept Ordered = requires(K k)
{
    {
        isPositive(k)
        } -> std::same_as<bool>;
};
template <class K>
concept Analytic = requires(K k)
{
    {
        exponential(k)
        } -> std::same_as<K>;
    {
        logarithm(k)
        } -> std::same_as<K>;
};

template <class K>
using Made = base::Result<std::shared_ptr<const Operator<Array<K>>>>;
template <class K>
using Payloads = Payload<Array<K>>;

template <class K, class F, class R>
std::shared_ptr<const Operator<Array<K>>> make(F forward, R reverse)
{
    return std::make_shared<FunctionOperator<Array<K>>>(std::move(forward), std::move(reverse));
}

template <class K>
base::Result<void> checkEqual(Operands<Array<K>> operands)
{
    for (const Array<K>* operand : operands) {
        if (operand->shape != operands.front()->shape) {
            return base::inputError("the operands have the shapes " + tensor::toText(operands.front()->shape) +
                                    " and " + tensor::toText(operand->shape) + "; broadcast one of them first");
        }
    }
    return {};
}

template <class K>
Array<K> product(const Array<K>& a, const Array<K>& b)
{
    return zipped(a, b, [](const K& x, const K& y) { return x * y; });
}

template <class K>
Array<K> scaled(const Array<K>& a, const K& factor)
{
    return mapped(a, [&factor](const K& x) { return x * factor; });
}

template <class K>
Array<K> transposed(const Array<K>& a)
{
    const std::int64_t rows = a.shape[0];
    const std::int64_t columns = a.shape[1];
    Array<K> result{{columns, rows}, {}};
    for (std::int64_t j = 0; j < columns; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) {
            result.data.push_back(a.data[static_cast<std::size_t>(i * columns + j)]);
        }
    }
    return result;
}

/// a·b through the reference template of core/ops.
template <class K>
Array<K> matrixProduct(const Array<K>& a, const Array<K>& b)
{
    Array<K> result = constantArray({a.shape[0], b.shape[1]}, K(0));
    ops::reference::multiply<K>({a.data.data(), a.shape[0], a.shape[1], a.shape[1]},
                                {b.data.data(), b.shape[0], b.shape[1], b.shape[1]}, result.data.data(), b.shape[1]);
    return result;
}

/// Position in an array of shape `from` that element `flat` of `to` reads by broadcasting.
inline std::size_t broadcastSource(std::size_t flat, const tensor::Shape& from, const tensor::Shape& to)
{
    std::size_t source = 0;
    std::size_t stride = 1;
    for (std::size_t back = 0; back < to.size(); ++back) {
        const auto extent = static_cast<std::size_t>(to[to.size() - 1 - back]);
        const std::size_t at = flat % extent;
        flat /= extent;
        if (back < from.size()) {
            const auto own = static_cast<std::size_t>(from[from.size() - 1 - back]);
            source += own == 1 ? 0 : at * stride;
            stride *= own;
        }
    }
    return source;
}

/// True when a value of shape `from` can be broadcast to `to`.
inline bool broadcasts(const tensor::Shape& from, const tensor::Shape& to)
{
    if (from.size() > to.size()) {
        return false;
    }
    for (std::size_t back = 1; back <= from.size(); ++back) {
        const std::int64_t own = from[from.size() - back];
        if (own != 1 && own != to[to.size() - back]) {
            return false;
        }
    }
    return true;
}

template <class K>
Made<K> makeAdd()
{
    return make<K>(
        [](Operands<Array<K>> x, const Payloads<K>&) -> base::Result<Array<K>> {
            RETRO_CHECK(checkEqual<K>(x));
            return ValueTraits<Array<K>>::add(*x[0], *x[1]);
        },
        [](const Site<Array<K>>&, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
            return Parts<Array<K>>{up, up};
        });
}

template <class K>
Made<K> makeMul()
{
    return make<K>(
        [](Operands<Array<K>> x, const Payloads<K>&) -> base::Result<Array<K>> {
            RETRO_CHECK(checkEqual<K>(x));
            return product(*x[0], *x[1]);
        },
        [](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
            return Parts<Array<K>>{product(*site.operands[1], up), product(*site.operands[0], up)};
        });
}

template <class K>
Made<K> makeScale(const K& factor)
{
    return make<K>(
        [factor](Operands<Array<K>> x, const Payloads<K>&) -> base::Result<Array<K>> { return scaled(*x[0], factor); },
        [factor](const Site<Array<K>>&, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
            return Parts<Array<K>>{scaled(up, factor)};
        });
}

template <class K>
base::Result<K> factorOf(const Payloads<K>& payload, const std::string& key)
{
    const auto at = payload.find(key);
    if (at == payload.end() || at->second.data.size() != 1) {
        return base::inputError("the payload has no scalar \"" + key + "\"");
    }
    return at->second.data.front();
}

template <class K>
Made<K> makePayloadScale(const std::string& key)
{
    return make<K>(
        [key](Operands<Array<K>> x, const Payloads<K>& payload) -> base::Result<Array<K>> {
            RETRO_TRY(const K factor, factorOf(payload, key));
            return scaled(*x[0], factor);
        },
        [key](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
            RETRO_TRY(const K factor, factorOf(site.payload, key));
            return Parts<Array<K>>{scaled(up, factor)};
        });
}

template <class K>
Made<K> makeMatMul()
{
    return make<K>(
        [](Operands<Array<K>> x, const Payloads<K>&) -> base::Result<Array<K>> {
            if (x[0]->shape.size() != 2 || x[1]->shape.size() != 2 || x[0]->shape[1] != x[1]->shape[0]) {
                return base::inputError("matmul of " + tensor::toText(x[0]->shape) + " by " +
                                        tensor::toText(x[1]->shape) + "; it takes m × k by k × n");
            }
            return matrixProduct(*x[0], *x[1]);
        },
        [](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
            return Parts<Array<K>>{matrixProduct(up, transposed(*site.operands[1])),
                                   matrixProduct(transposed(*site.operands[0]), up)};
        });
}

template <class K>
Made<K> makeTranspose()
{
    return make<K>(
        [](Operands<Array<K>> x, const Payloads<K>&) -> base::Result<Array<K>> {
            if (x[0]->shape.size() != 2) {
                return base::inputError("transpose of " + tensor::toText(x[0]->shape) + "; it takes a matrix");
            }
            return transposed(*x[0]);
        },
        [](const Site<Array<K>>&, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
            return Parts<Array<K>>{transposed(up)};
        });
}

template <class K>
Made<K> makeSum()
{
    return make<K>(
        [](Operands<Array<K>> x, const Payloads<K>&) -> base::Result<Array<K>> { return scalarArray(total(*x[0])); },
        [](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
            return Parts<Array<K>>{constantArray(site.operands[0]->shape, up.data.front())};
        });
}

template <class K>
Made<K> makeBroadcast(const tensor::Shape& shape)
{
    return make<K>(
        [shape](Operands<Array<K>> x, const Payloads<K>&) -> base::Result<Array<K>> {
            if (!broadcasts(x[0]->shape, shape)) {
                return base::inputError("a value of shape " + tensor::toText(x[0]->shape) + " cannot be broadcast to " +
                                        tensor::toText(shape));
            }
            Array<K> result{shape, {}};
            for (std::size_t i = 0; i < static_cast<std::size_t>(tensor::elementCount(shape)); ++i) {
                result.data.push_back(x[0]->data[broadcastSource(i, x[0]->shape, shape)]);
            }
            return result;
        },
        [shape](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
            Array<K> sum = constantArray(site.operands[0]->shape, K(0));
            for (std::size_t i = 0; i < up.data.size(); ++i) {
                sum.data[broadcastSource(i, sum.shape, shape)] += up.data[i];
            }
            return Parts<Array<K>>{std::move(sum)};
        });
}

template <class K>
base::Result<Array<K>> concatenated(Operands<Array<K>> x)
{
    Array<K> result{x[0]->shape, {}};
    if (result.shape.empty()) {
        return base::inputError("concat0 of scalars; they have no axis 0");
    }
    result.shape[0] = 0;
    for (const Array<K>* operand : x) {
        tensor::Shape rest = operand->shape;
        if (rest.empty() || tensor::Shape(rest.begin() + 1, rest.end()) !=
                                tensor::Shape(result.shape.begin() + 1, result.shape.end())) {
            return base::inputError("concat0 of " + tensor::toText(x[0]->shape) + " and " + tensor::toText(rest) +
                                    "; all axes but the first must agree");
        }
        result.shape[0] += rest[0];
        result.data.insert(result.data.end(), operand->data.begin(), operand->data.end());
    }
    return result;
}

template <class K>
Made<K> makeConcat()
{
    return make<K>([](Operands<Array<K>> x, const Payloads<K>&) { return concatenated<K>(x); },
                   [](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
                       Parts<Array<K>> parts;
                       auto at = up.data.begin();
                       for (const Array<K>* operand : site.operands) {
                           const auto end = at + static_cast<std::ptrdiff_t>(operand->data.size());
                           parts.push_back(Array<K>{operand->shape, {at, end}});
                           at = end;
                       }
                       return parts;
                   });
}

template <class K>
base::Result<Array<K>> gathered(const Array<K>& x, const std::vector<std::int64_t>& index)
{
    if (x.shape.empty()) {
        return base::inputError("gather0 of a scalar; it has no axis 0");
    }
    Array<K> result{x.shape, {}};
    result.shape[0] = static_cast<std::int64_t>(index.size());
    for (const std::int64_t row : index) {
        if (row < 0 || row >= x.rows()) {
            return base::inputError("gather0 of row " + std::to_string(row) + " of a value of shape " +
                                    tensor::toText(x.shape));
        }
        const auto first = x.data.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * x.rowSize());
        result.data.insert(result.data.end(), first, first + static_cast<std::ptrdiff_t>(x.rowSize()));
    }
    return result;
}

template <class K>
Made<K> makeGather(const std::vector<std::int64_t>& index)
{
    return make<K>([index](Operands<Array<K>> x, const Payloads<K>&) { return gathered(*x[0], index); },
                   [index](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
                       Array<K> sum = constantArray(site.operands[0]->shape, K(0));
                       const std::size_t size = sum.rowSize();
                       for (std::size_t i = 0; i < index.size(); ++i) {
                           for (std::size_t k = 0; k < size; ++k) {
                               sum.data[static_cast<std::size_t>(index[i]) * size + k] += up.data[i * size + k];
                           }
                       }
                       return Parts<Array<K>>{std::move(sum)};
                   });
}

/// Element by element: f forward; reverse multiplies by slope(x, y).
template <class K, class F, class S>
Made<K> makeElementWise(F f, S slope)
{
    return make<K>([f](Operands<Array<K>> x, const Payloads<K>&) -> base::Result<Array<K>> { return mapped(*x[0], f); },
                   [slope](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
                       return Parts<Array<K>>{product(zipped(*site.operands[0], site.value, slope), up)};
                   });
}

/// The refusal of an operator over a scalar that has no `what`.
inline base::Error lacks(const std::string& name, const std::string& what)
{
    return base::inputError(name + " needs scalars " + what + "; this scalar has no such thing");
}

template <class K>
Made<K> makeRelu()
{
    if constexpr (Ordered<K>) {
        return makeElementWise<K>([](const K& x) { return isPositive(x) ? x : K(0); },
                                  [](const K& x, const K&) { return isPositive(x) ? K(1) : K(0); });
    } else {
        return lacks("relu", "with an order");
    }
}

template <class K>
Made<K> makeInverse()
{
    if constexpr (Invertible<K>) {
        return makeElementWise<K>([](const K& x) { return inverse(x); },
                                  [](const K&, const K& y) { return K(-1) * (y * y); });
    } else {
        return lacks("inv", "with a division");
    }
}

template <class K>
Made<K> makeExp()
{
    if constexpr (Analytic<K>) {
        return makeElementWise<K>([](const K& x) { return exponential(x); }, [](const K&, const K& y) { return y; });
    } else {
        return lacks("exp", "with an exponential");
    }
}

template <class K>
Made<K> makeLog()
{
    if constexpr (Analytic<K> && Invertible<K>) {
        return makeElementWise<K>([](const K& x) { return logarithm(x); },
                                  [](const K& x, const K&) { return inverse(x); });
    } else {
        return lacks("log", "with a logarithm");
    }
}

template <class K>
Made<K> makeSigmoid()
{
    if constexpr (Analytic<K> && Invertible<K>) {
        return makeElementWise<K>([](const K& x) { return inverse(K(1) + exponential(K(-1) * x)); },
                                  [](const K&, const K& y) { return y * (K(1) - y); });
    } else {
        return lacks("sigmoid", "with an exponential");
    }
}

/// Forward Σ x·w; reverse hands x its shares x·w·up / Σ x·w and w nothing.
template <class K>
Made<K> makeDotRule()
{
    if constexpr (Invertible<K>) {
        return make<K>(
            [](Operands<Array<K>> x, const Payloads<K>&) -> base::Result<Array<K>> {
                RETRO_CHECK(checkEqual<K>(x));
                return scalarArray(dot(*x[0], *x[1]));
            },
            [](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
                const K share = up.data.front() * inverse(site.value.data.front());
                return Parts<Array<K>>{scaled(product(*site.operands[0], *site.operands[1]), share), std::nullopt};
            });
    } else {
        return lacks("dot_zrule", "with a division");
    }
}

/// Opaque symbols: forward is the name, the part of slot i is name i [upstream].
template <class K>
Made<K> makeSymbol(const std::string& name)
{
    if constexpr (requires(K k) { K::applied(name, 0, k); }) {
        return make<K>(
            [name](Operands<Array<K>>, const Payloads<K>&) -> base::Result<Array<K>> { return scalarArray(K(name)); },
            [name](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
                Parts<Array<K>> parts;
                for (std::size_t slot = 0; slot < site.operands.size(); ++slot) {
                    parts.push_back(scalarArray(K::applied(name, slot, up.data.front())));
                }
                return parts;
            });
    } else {
        return lacks("sym", "that are symbols");
    }
}

/// Refuses a node of `name` with a number of operands that the operator does not take.
inline base::Result<void> checkOperandCount(const std::string& name, std::size_t operands)
{
    if (name == "sym" || (name == "concat0" && operands > 0)) {
        return {};
    }
    const bool isBinary = name == "add" || name == "mul" || name == "matmul" || name == "dot_zrule";
    const std::size_t wanted = isBinary ? 2 : 1;
    if (operands != wanted) {
        return base::inputError(name + " takes " + std::to_string(wanted) + " operands, but the node has " +
                                std::to_string(operands));
    }
    return {};
}

} // namespace detail

/// The operator of `spec` over scalars K for a node with `operands` operands. Errors: unknown name; another number of
/// operands; a scalar that lacks what the operator needs.
template <class K>
[[nodiscard]] base::Result<std::shared_ptr<const Operator<Array<K>>>> makeArrayOperator(const OperatorSpec<K>& spec,
                                                                                        std::size_t operands)
{
    using namespace detail;
    const std::map<std::string, std::function<Made<K>()>> makers{
        {"add", makeAdd<K>},
        {"mul", makeMul<K>},
        {"scale", [&] { return makeScale<K>(spec.factor); }},
        {"matmul", makeMatMul<K>},
        {"transpose", makeTranspose<K>},
        {"sum", makeSum<K>},
        {"broadcast", [&] { return makeBroadcast<K>(spec.shape); }},
        {"concat0", makeConcat<K>},
        {"gather0", [&] { return makeGather<K>(spec.index); }},
        {"relu", makeRelu<K>},
        {"inv", makeInverse<K>},
        {"exp", makeExp<K>},
        {"log", makeLog<K>},
        {"sigmoid", makeSigmoid<K>},
        {"payload_scale", [&] { return makePayloadScale<K>(spec.key); }},
        {"dot_zrule", makeDotRule<K>},
        {"sym", [&] { return makeSymbol<K>(spec.key); }},
    };
    const auto at = makers.find(spec.name);
    if (at == makers.end()) {
        return base::inputError("no operator \"" + spec.name + "\" over arrays");
    }
    RETRO_CHECK(checkOperandCount(spec.name, operands));
    return at->second();
}

} // namespace retro::tape
