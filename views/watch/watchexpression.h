// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "views/common/viewcontext.h"

#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::views
{

/// What a watch looks at.
enum class WatchOf : std::uint8_t { Relevance, Value, Buffer };

/// Which number of a tensor a watch shows. NaN and infinite elements count in NotFinite and nowhere else.
enum class WatchPart : std::uint8_t { Sum, Smallest, Largest, Mean, Norm, NotFinite, Element };

/// An expression over a tensor of the run:
///
///   R(NODE)           Σ of the relevance of a node's first output; also R(NODE).min .max .mean .norm .nan
///   V(NODE).max       the same of its forward value
///   R(NODE)[0,3]      one element, by its index
///   B(NODE, Output)   the same of a buffer of a LUT layer, as its kernels left it at the cursor
///
/// NODE is a name as the file says it, or its last part where that is unique; values can be named too.
struct WatchExpression
{
    WatchOf of = WatchOf::Relevance;
    WatchPart part = WatchPart::Sum;
    QString name;
    QString buffer{};                ///< of WatchOf::Buffer: "Lookup Indices"
    std::vector<std::int64_t> index; ///< for Element

    /// Error (Usage): says how an expression looks.
    [[nodiscard]] static base::Result<WatchExpression> parse(const QString& text);
    /// As parse() reads it.
    [[nodiscard]] QString text() const;
    bool operator==(const WatchExpression&) const = default;
};

/// The value of the graph that an expression means. Error (Usage): no node or value of that name, or several.
[[nodiscard]] base::Result<base::ValueId> valueNamed(const graph::Graph& graph, const QString& name);

/// A number at the cursor, or in words why there is none.
struct WatchResult
{
    std::optional<double> number;
    QString reason; ///< "not known yet"; empty with a number
};

/// One number of a tensor. Reasons: an index of another rank, or out of range.
[[nodiscard]] WatchResult partOf(const tensor::Tensor& tensor, const WatchExpression& expression);

} // namespace retro::views
