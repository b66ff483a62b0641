// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/lut/lutlayer.h"
#include "kernels/lut/callchecks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace retro::ops
{

using tensor::DType;
using tensor::Shape;

namespace
{

constexpr std::int64_t kMaxLutExtent = 0x7FFFFFFF;

/// Reads a node's operands into the description of a layer, and checks that they fit each other.
class LutBinder
{
public:
    explicit LutBinder(const BindContext& context) : m_context(context) {}

    BoundResult bind()
    {
        RETRO_CHECK(takeTypes());
        RETRO_CHECK(takeInput());
        RETRO_CHECK(takeAnchors());
        RETRO_CHECK(takeCodes());
        RETRO_CHECK(m_layer.isSparse ? takeSynapses() : takeTables());
        RETRO_CHECK(takeGroups());
        RETRO_CHECK(checkLayer());
        Shape output = m_operands.input.shape;
        output.back() = m_layer.shape.outputs;
        RETRO_CHECK(expectSize(m_context, output));
        RETRO_CHECK(checkSites());
        m_layer.path = m_context.intAttribute("documented", 0) != 0 ? lut::Path::Documented : lut::Path::Fused;
        m_layer.backend = m_context.intAttribute("cuda", 0) != 0 ? lut::Backend::Cuda : lut::Backend::Cpu;
        TensorType result{m_operands.input.dtype, std::move(output)};
        auto made = std::make_unique<LutOperator>(std::move(result), std::move(m_layer), std::move(m_operands));
        RETRO_CHECK(checkScratch(*made));
        return BoundResult(std::move(made));
    }

private:
    [[nodiscard]] const TensorType& type(std::size_t slot) const { return m_context.operandTypes[slot]; }

    base::Result<void> takeTypes()
    {
        m_operands.input = type(TableLookup::kInput);
        m_layer.shape.isSequence = m_context.intAttribute("sequence", 0) != 0;
        m_layer.isSparse = m_context.present(TableLookup::kRowStarts);
        if (m_layer.isSparse != m_context.present(TableLookup::kColumns)) {
            return m_context.error("row starts (operand 4) and columns (operand 5) are given together, or neither");
        }
        for (const std::size_t slot : {TableLookup::kInput, TableLookup::kWeights, TableLookup::kCodes}) {
            const bool isWrong = m_context.present(slot) &&
                                 (type(slot).dtype != m_operands.input.dtype || !tensor::isFloating(type(slot).dtype));
            if (isWrong) {
                return m_context.error("input, weights and positional codes must be float32 or float64, all alike");
            }
        }
        return {};
    }

    /// An extent as the layer counts it.
    base::Result<std::uint32_t> extent(const char* name, std::int64_t value) const
    {
        if (value < 0 || value > kMaxLutExtent) {
            return m_context.error(fmt::format("{} is {}; it must be 0 to {}", name, value, kMaxLutExtent));
        }
        return static_cast<std::uint32_t>(value);
    }

    base::Result<void> takeInput()
    {
        const Shape& x = m_operands.input.shape;
        const bool isSequence = m_layer.shape.isSequence;
        if (x.size() < (isSequence ? 2U : 1U)) {
            return m_context.error(isSequence ? "with sequence = 1 the input is … × positions × inputs"
                                              : "the input is … × inputs");
        }
        RETRO_TRY(m_layer.shape.inputs, extent("the number of inputs", x.back()));
        if (isSequence) {
            RETRO_TRY(m_layer.shape.length, extent("the number of positions", x[x.size() - 2]));
        }
        return {};
    }

    /// Integers of an operand that must not depend on what is computed.
    base::Result<Tensor> integers(std::size_t slot, const char* name) const
    {
        if (tensor::isFloating(type(slot).dtype)) {
            return m_context.error(fmt::format("{} (operand {}) must be int32 or int64", name, slot));
        }
        RETRO_TRY(const Tensor values, m_context.known(slot));
        return values.to(DType::Int64).contiguous();
    }

    base::Result<void> takeAnchors()
    {
        const Shape& shape = type(TableLookup::kAnchors).shape;
        if (shape.size() != 3 || shape[2] != 2) {
            return m_context.error(
                fmt::format("anchors are {}; they must be detectors × comparisons × 2", tensor::toText(shape)));
        }
        RETRO_TRY(m_layer.shape.tables, extent("the number of detectors", shape[0]));
        RETRO_TRY(m_layer.shape.comparisons, extent("the number of comparisons", shape[1]));
        RETRO_TRY(const Tensor values, integers(TableLookup::kAnchors, "anchors"));
        const std::span<const std::int64_t> ids = values.span<std::int64_t>();
        RETRO_CHECK(expectAll(
            ids, {-1, kMaxLutExtent}, "anchors",
            fmt::format("inputs are 0 to {}, and -1 marks an unused pair", std::int64_t{m_layer.shape.inputs} - 1)));
        for (std::size_t i = 0; i < ids.size(); i += 2) {
            m_layer.anchors.push_back({anchorOf(ids[i]), anchorOf(ids[i + 1])});
        }
        return {};
    }

    /// Refuses what the layer cannot hold, with the number that was given; the layer's own check sees the rest.
    base::Result<void> expectAll(std::span<const std::int64_t> numbers, std::array<std::int64_t, 2> range,
                                 const char* name, const std::string& expected) const
    {
        const auto isBad = [&](std::int64_t n) { return n < range[0] || n > range[1]; };
        const auto bad = std::ranges::find_if(numbers, isBad);
        return bad == numbers.end()
                   ? base::Result<void>()
                   : m_context.error(fmt::format("{}[{}] is {}; {}", name, bad - numbers.begin(), *bad, expected));
    }

    /// −1 marks an unused anchor; what names no input is left for the layer's check to refuse.
    static std::uint32_t anchorOf(std::int64_t id)
    {
        return id == -1 ? lut::kUnusedAnchor : static_cast<std::uint32_t>(id);
    }

    base::Result<void> takeCodes()
    {
        if (!m_context.present(TableLookup::kCodes)) {
            return {};
        }
        m_operands.codes = type(TableLookup::kCodes).shape;
        const lut::LayerShape& shape = m_layer.shape;
        if (!shape.isSequence) {
            return m_context.error("positional codes (operand 3) need sequence = 1");
        }
        const Shape& codes = m_operands.codes;
        if (codes.size() != 3 || codes[0] != std::int64_t{shape.length} - 1 || codes[1] != shape.tables) {
            return m_context.error(fmt::format("positional codes are {}; {} positions and {} detectors need {} × {} × "
                                               "bits",
                                               tensor::toText(codes), shape.length, shape.tables,
                                               std::int64_t{shape.length} - 1, shape.tables));
        }
        RETRO_TRY(m_layer.shape.codeBits, extent("the number of bits of a positional code", codes[2]));
        return {};
    }

    base::Result<void> takeTables()
    {
        const Shape& weights = type(TableLookup::kWeights).shape;
        m_operands.weights = weights;
        const lut::LayerShape& shape = m_layer.shape;
        if (shape.rowBits() > lut::kMaxRowBits) {
            m_layer.shape.outputs = 1; // the layer's check says how many bits there may be
            return {};
        }
        if (weights.size() != 3 || weights[0] != shape.tables ||
            weights[1] != static_cast<std::int64_t>(shape.rows())) {
            return m_context.error(
                fmt::format("weights are {}; {} detectors with {} bits of a row need {} × {} × outputs",
                            tensor::toText(weights), shape.tables, shape.rowBits(), shape.tables, shape.rows()));
        }
        RETRO_TRY(m_layer.shape.outputs, extent("the number of outputs", weights[2]));
        const std::int64_t said = m_context.intAttribute("outputs", weights[2]);
        if (said != weights[2]) {
            return m_context.error(fmt::format("outputs is {}, but rows have {} weights", said, weights[2]));
        }
        return {};
    }

    base::Result<void> takeSynapses()
    {
        m_operands.weights = type(TableLookup::kWeights).shape;
        const bool isList = m_operands.weights.size() == 1 && type(TableLookup::kRowStarts).shape.size() == 1 &&
                            type(TableLookup::kColumns).shape.size() == 1;
        if (!isList) {
            return m_context.error("weights, row starts and columns of a sparse layer are lists");
        }
        RETRO_TRY(m_layer.shape.outputs, extent("outputs", m_context.intAttribute("outputs", 0)));
        if (m_layer.shape.outputs == 0) {
            return m_context.error("a sparse layer needs the attribute outputs, at least 1");
        }
        RETRO_TRY(const Tensor starts, integers(TableLookup::kRowStarts, "row starts"));
        RETRO_CHECK(expectAll(starts.span<std::int64_t>(), {0, std::numeric_limits<std::int64_t>::max()}, "row starts",
                              "they ascend from 0"));
        for (const std::int64_t start : starts.span<std::int64_t>()) {
            m_layer.rowStarts.push_back(static_cast<std::uint64_t>(start));
        }
        RETRO_TRY(const Tensor columns, integers(TableLookup::kColumns, "columns"));
        RETRO_CHECK(expectAll(columns.span<std::int64_t>(), {0, kMaxLutExtent}, "columns",
                              fmt::format("outputs are 0 to {}", m_layer.shape.outputs - 1)));
        for (const std::int64_t column : columns.span<std::int64_t>()) {
            m_layer.columns.push_back(static_cast<std::uint32_t>(column));
        }
        return {};
    }

    base::Result<void> takeGroups()
    {
        RETRO_TRY(m_layer.forwardGroup, extent("forward_group", m_context.intAttribute("forward_group", 32)));
        RETRO_TRY(m_layer.backwardGroup, extent("backward_group", m_context.intAttribute("backward_group", 32)));
        return {};
    }

    /// What the layer itself checks: ranges, anchors, connectivity, overflow. Reads no weights.
    base::Result<void> checkLayer() const
    {
        const std::int64_t weights = tensor::elementCount(m_operands.weights);
        const std::int64_t codes = m_operands.codes.empty() ? 0 : tensor::elementCount(m_operands.codes);
        const Tensor w = sized(TableLookup::kWeights, weights);
        const Tensor c = sized(TableLookup::kCodes, codes);
        const lut::Status status = visitType(w, c);
        return status.ok() ? base::Result<void>() : m_context.error(status.message);
    }

    /// Numbers of an operand: its own when it is a constant, else zeros in their place.
    [[nodiscard]] Tensor sized(std::size_t slot, std::int64_t count) const
    {
        return count > 0 && m_context.constant(slot) ? m_context.constants[slot].contiguous()
                                                     : Tensor::zeros(m_operands.input.dtype, {count});
    }

    [[nodiscard]] lut::Status visitType(const Tensor& weights, const Tensor& codes) const
    {
        if (m_operands.input.dtype == DType::Float64) {
            std::optional<lut::Layer<double>> layer;
            return lut::Layer<double>::create(
                descriptionOf<double>(m_layer, weights.span<double>(), codes.span<double>()), layer);
        }
        std::optional<lut::Layer<float>> layer;
        return lut::Layer<float>::create(descriptionOf<float>(m_layer, weights.span<float>(), codes.span<float>()),
                                         layer);
    }

    /// What a pass keeps per sample, position and table has a bounded size, too.
    base::Result<void> checkSites() const
    {
        Shape sites = m_operands.input.shape;
        sites.back() = m_layer.shape.tables;
        return expectSize(m_context, sites);
    }

    /// Both passes, as far as they go: what cannot be allocated is refused before anything runs.
    base::Result<void> checkScratch(const LutOperator& made) const
    {
        for (const lut::Pass pass : {lut::Pass::Forward, lut::Pass::Backward}) {
            lut::Schedule schedule;
            lut::Status status = lut::makeSchedule(made.schedule(made.path(), pass), schedule);
            status = status.ok() ? lut::checkScratch(schedule, made.batch(), lut::kScratchLimit) : status;
            if (!status.ok()) {
                return m_context.error(status.message);
            }
        }
        return {};
    }

    const BindContext& m_context;
    LutStructure m_layer;
    LutOperands m_operands;
};

BoundResult bindLut(const BindContext& context) { return LutBinder(context).bind(); }

} // namespace

const OperatorFamily kLutOperators{
    {"ai.retrograde", "LUT", 1, 0, "table lookup", true, bindLut},
};

} // namespace retro::ops
