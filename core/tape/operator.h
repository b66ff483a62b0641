// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tape/fault.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::tape
{

/// How the loops see values of type V; specialise for another type of value:
///   static bool sameShape(const V&, const V&);
///   static std::string shapeText(const V&);
///   static V add(const V& accumulator, const V& part);  // of equal shapes, accumulator on the left
///   static V zeroLike(const V&);
template <class V>
struct ValueTraits;

/// What every forward and reverse rule may read beside its operands, and what is never differentiated: seeds of random
/// masks, frozen parameters, settings of a rule. A graph without payload is the pure variant.
template <class V>
using Payload = std::map<std::string, V, std::less<>>;

/// Operands by slot; borrowed, valid during a call.
template <class V>
using Operands = std::span<const V* const>;

/// A node as its reverse rule sees it.
template <class V>
struct Site
{
    Operands<V> operands;
    const V& value; ///< its forward result
    const Payload<V>& payload;
    std::span<const std::uint8_t> wanted; ///< per operand slot: 1 when its part is used; others may be left out
};

/// Part per operand slot; nothing where the operand gets none.
template <class V>
using Parts = std::vector<std::optional<V>>;

/// An operator of a tape with its reverse rule: the derivative, a relevance rule, or any other. Immutable; shared.
template <class V>
class Operator
{
public:
    virtual ~Operator() = default;
    /// The value. Errors: operands that the operator cannot work with.
    [[nodiscard]] virtual base::Result<V> forward(Operands<V> operands, const Payload<V>& payload) const = 0;
    /// What `upstream`, of the value's shape, sends back; each part in the shape of its operand.
    [[nodiscard]] virtual base::Result<Parts<V>> reverse(const Site<V>& site, const V& upstream) const = 0;
};

/// One step of a graph in SSA order.
template <class V>
struct Node
{
    std::shared_ptr<const Operator<V>> op;
    std::vector<Id> parents; ///< operands by slot; earlier ids only; may repeat
    std::string name = {};   ///< for messages
};

/// A graph in the order in which its values are made; Γ is given when it is compiled.
template <class V>
using NodeList = std::vector<Node<V>>;

/// An operator made of two functions.
template <class V>
class FunctionOperator final : public Operator<V>
{
public:
    using Forward = std::function<base::Result<V>(Operands<V>, const Payload<V>&)>;
    using Reverse = std::function<base::Result<Parts<V>>(const Site<V>&, const V&)>;

    FunctionOperator(Forward forward, Reverse reverse) : m_forward(std::move(forward)), m_reverse(std::move(reverse)) {}
    [[nodiscard]] base::Result<V> forward(Operands<V> operands, const Payload<V>& payload) const override
    {
        return m_forward(operands, payload);
    }
    [[nodiscard]] base::Result<Parts<V>> reverse(const Site<V>& site, const V& upstream) const override
    {
        return m_reverse(site, upstream);
    }

private:
    Forward m_forward;
    Reverse m_reverse;
};

} // namespace retro::tape
