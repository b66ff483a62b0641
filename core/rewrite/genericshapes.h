// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/draft.h"

#include <map>
#include <optional>
#include <vector>

namespace retro::rewrite
{

/// The extent of an axis for two choices of the extents that the inputs leave free. It is known where both agree; two
/// axes are equal where both are.
struct GenericExtent
{
    std::int64_t first = 0;
    std::int64_t second = 0;
    [[nodiscard]] bool isKnown() const { return first == second; }
    bool operator==(const GenericExtent&) const = default;
};

using GenericShape = std::vector<GenericExtent>;

/// Shapes of the values of a draft, worked out when the first is asked for: costs two bindings of every node, one where
/// the inputs declare all their extents.
class GenericShapes
{
public:
    /// `draft` must outlive it.
    explicit GenericShapes(const Draft& draft) : m_draft(draft) {}

    /// Nothing where the shape does not follow from the inputs' ranks and the constants.
    [[nodiscard]] std::optional<GenericShape> of(ValueId id);
    /// Element type of a value of the graph before, of whole numbers as the model has it; nothing where of() knows
    /// nothing.
    [[nodiscard]] std::optional<tensor::DType> typeOf(ValueId id);
    /// `added`, which the graph before does not have, has the shape of `like`.
    void setLike(ValueId added, ValueId like) { m_like[added.index()] = like; }

private:
    void inferAll();

    const Draft& m_draft;
    bool m_isDone = false;
    std::vector<std::optional<GenericShape>> m_shapes; ///< per value of the graph before
    std::vector<std::optional<tensor::DType>> m_types; ///< the same
    std::map<std::size_t, ValueId> m_like;
};

} // namespace retro::rewrite
