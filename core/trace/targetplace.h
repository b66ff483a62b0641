// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/trace/run.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retro::trace
{

/// What the axes of a value are called when one of its elements is a target: "sample" (the first of two axes and more),
/// "class", and between them "token" (one axis), "row" and "column" (two), "depth", "row" and "column" (three); "axis3"
/// and so on beyond. Which axis has the classes follows from what makes the value: axis 1 behind convolutions and
/// pooling, the axis of a softmax, else the last one; of four axes and more without such a word, axis 1.
[[nodiscard]] std::vector<std::string> axisNames(const graph::Graph& graph, base::ValueId value, std::size_t rank);

/// The same for a value of which nothing but its number of axes is known.
[[nodiscard]] std::vector<std::string> usualAxisNames(std::size_t rank);

/// True when a sample of such a value has more than one row of classes, so that an element is told by several numbers.
[[nodiscard]] bool isDense(const std::vector<std::string>& names, const tensor::Shape& shape);

/// Indices along all axes but the first of an element of one sample, by its row-major position there; along all axes of
/// a value with less than two.
[[nodiscard]] std::vector<std::int64_t> indicesInSample(const tensor::Shape& shape, std::int64_t position);

/// The class of an element of one sample: its index along the axis of that name; its position where the value has one
/// row of classes per sample.
[[nodiscard]] std::int64_t classOf(const std::vector<std::string>& names, const tensor::Shape& shape,
                                   std::int64_t position);

/// "token 11, class 504" (the class last) of an element of one sample; "7" where the value has one row of classes per
/// sample.
[[nodiscard]] std::string placeText(const std::vector<std::string>& names, const tensor::Shape& shape,
                                    std::int64_t position);
/// "token=11,class=504" as --target takes it; "7" where the value has one row of classes per sample.
[[nodiscard]] std::string placeCode(const std::vector<std::string>& names, const tensor::Shape& shape,
                                    std::int64_t position);

/// The number of a run whose target is a segment: its class.
inline constexpr const char* kSegmentNumber = "segment";
/// The class of the segment that a run explains; none where it explains something else.
[[nodiscard]] std::optional<std::int64_t> segmentOf(const Run& run);

/// The target of a run's first sample as --target takes it: placeCode() of its element, "segment=2"; the name of its
/// value where it is neither.
[[nodiscard]] std::string targetCode(const Run& run);
/// An element of one sample of a run's target by placeText(); its position where nothing is known of that value.
[[nodiscard]] std::string placeInTarget(const Run& run, std::int64_t position);
/// The class of such an element.
[[nodiscard]] std::int64_t classInTarget(const Run& run, std::int64_t position);
/// True when an element of a run's target is told by several numbers.
[[nodiscard]] bool hasDenseTarget(const Run& run);

} // namespace retro::trace
