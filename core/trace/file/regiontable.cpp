// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/runtables.h"

#include <algorithm>
#include <string_view>

namespace retro::trace::file
{

using base::Result;

namespace
{

// What a row of the table tells of its value.
constexpr std::string_view kInWords = "text";
constexpr std::string_view kMask = "mask";
constexpr std::string_view kWeight = "weight";
constexpr std::string_view kArrives = "arrives";
constexpr std::size_t kMostText = 65'536;

Result<void> writeTensorRows(RowWriter& rows, std::string_view kind, const std::vector<Tensor>& tensors,
                             std::span<const ValueId> values, TensorPool& pool)
{
    for (std::size_t i = 0; i < tensors.size() && i < values.size(); ++i) {
        if (tensors[i].isValid()) {
            RETRO_CHECK(rows.text(kind)
                            .integer(static_cast<std::int64_t>(values[i].index()))
                            .integer(pool.add(tensors[i]))
                            .text("")
                            .endRow());
        }
    }
    return {};
}

std::vector<ValueId> allValues(const graph::Graph& graph)
{
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        values.emplace_back(i);
    }
    return values;
}

bool isOfShape(const Tensor& tensor, ValueId value, const Run& run)
{
    return tensor::isFloating(tensor.dtype()) && (run.shapes.empty() || tensor.shape() == run.shapes[value.index()]);
}

} // namespace

Result<void> writeRegion(Database& database, const Run& run, const RunRegion* region, TensorPool& pool,
                         RowCounts& counts)
{
    if (region == nullptr) {
        return {};
    }
    RowWriter rows(database, kRegion);
    RETRO_CHECK(rows.text(kInWords).integer(0).integer(-1).text(region->text).endRow());
    const std::vector<ValueId> values = allValues(*run.graph);
    const auto inputs = run.graph->inputs();
    RETRO_CHECK(writeTensorRows(rows, kMask, region->masks, inputs, pool));
    RETRO_CHECK(writeTensorRows(rows, kWeight, region->weights, values, pool));
    RETRO_CHECK(writeTensorRows(rows, kArrives, region->arriving, values, pool));
    counts[positionOf(kRegion)] = rows.rows();
    return {};
}

Result<std::shared_ptr<const RunRegion>> readRegion(Database& database, const RowCounts& counts,
                                                    const std::vector<Tensor>& tensors, const Run& run)
{
    if (counts[positionOf(kRegion)] == 0) {
        return std::shared_ptr<const RunRegion>();
    }
    auto region = std::make_shared<RunRegion>();
    const auto inputs = run.graph->inputs();
    region->masks.resize(inputs.size());
    region->weights.resize(run.graph->valueCount());
    RowReader rows(database, kRegion, counts[positionOf(kRegion)]);
    for (bool isFirst = true;; isFirst = false) {
        RETRO_TRY(const bool isThere, rows.next());
        if (!isThere) {
            return std::shared_ptr<const RunRegion>(std::move(region));
        }
        const std::string kind = rows.text();
        const ValueId value{rows.index(run.graph->valueCount())};
        const std::int64_t at = rows.integer();
        std::string text = rows.text();
        if (kind == kInWords) {
            RETRO_CHECK(rows.check(isFirst && text.size() <= kMostText, "a region is said in words once, at first"));
            region->text = std::move(text);
            continue;
        }
        const bool isTensor = at >= 0 && static_cast<std::size_t>(at) < tensors.size() && !isFirst;
        RETRO_CHECK(rows.check(isTensor && isOfShape(tensors[static_cast<std::size_t>(at)], value, run),
                               "it names no tensor of its value's shape"));
        const Tensor& tensor = tensors[static_cast<std::size_t>(at)];
        const auto input = std::ranges::find(inputs, value);
        if (kind == kMask && input != inputs.end()) {
            region->masks[static_cast<std::size_t>(input - inputs.begin())] = tensor;
        } else if (kind == kWeight) {
            region->weights[value.index()] = tensor;
        } else if (kind == kArrives) {
            region->arriving.resize(run.graph->valueCount());
            region->arriving[value.index()] = tensor;
        } else {
            RETRO_CHECK(rows.check(false, "it is nothing that is said of a region"));
        }
    }
}

} // namespace retro::trace::file
