// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace retro::base
{

/// An index that cannot be passed for another kind of index. Default-constructed ids are invalid.
template <class Tag, class Rep = std::uint32_t>
struct StrongId
{
    static constexpr Rep kInvalid = std::numeric_limits<Rep>::max();
    Rep value = kInvalid;

    constexpr StrongId() = default;
    constexpr explicit StrongId(Rep v) : value(v) {}
    constexpr explicit StrongId(std::size_t v) requires(!std::is_same_v<std::size_t, Rep>) : value(static_cast<Rep>(v))
    {}

    [[nodiscard]] constexpr bool isValid() const { return value != kInvalid; }
    [[nodiscard]] constexpr std::size_t index() const { return value; }
    constexpr auto operator<=>(const StrongId&) const = default;
};

/// A node of a Graph.
using NodeId = StrongId<struct NodeTag>;
/// A value (tensor edge) of a Graph: model input, initializer, or output of a node.
using ValueId = StrongId<struct ValueTag>;
/// A promise of one traversal, numbered by creation.
using PromiseId = StrongId<struct PromiseTag>;
/// A handle on a tensor that lives while a run goes on: relevance part, argument, or forward value. Never reused in a
/// run.
using HandleId = StrongId<struct HandleTag>;
/// An event of a run, numbered from 0: the one time axis.
using StepId = StrongId<struct StepTag, std::uint64_t>;
/// A visit of a run (one pick of the traversal), numbered from 0.
using VisitId = StrongId<struct VisitTag>;

} // namespace retro::base

template <class Tag, class Rep>
struct std::hash<retro::base::StrongId<Tag, Rep>>
{
    std::size_t operator()(const retro::base::StrongId<Tag, Rep>& id) const noexcept
    {
        return std::hash<Rep>{}(id.value);
    }
};
