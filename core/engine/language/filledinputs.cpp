// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/filledinputs.h"

#include "core/engine/language/languagemodel.h"
#include "core/engine/language/modelconfig.h"
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace retro::engine
{

using base::ValueId;
using tensor::Tensor;

namespace
{

/// Extents of one past input, batch × heads × rows × width; nothing for what is not known.
struct PastExtents
{
    std::optional<std::int64_t> heads;
    std::int64_t rows = 0;
    std::optional<std::int64_t> width;
};

class InputFiller
{
public:
    InputFiller(const LoadedModel& model, std::vector<Tensor>& inputs, std::int64_t padding)
        : m_model(model), m_graph(*model.graph()), m_inputs(inputs), m_padding(padding)
    {}

    [[nodiscard]] base::Result<std::vector<std::string>> run()
    {
        if (!findTokens()) {
            return std::move(m_filled);
        }
        for (std::size_t i = 0; i < m_inputs.size(); ++i) {
            if (!m_inputs[i].isValid() && isPast(inputAt(i))) {
                RETRO_CHECK(fillPast(i));
            }
        }
        findPast();
        for (std::size_t i = 0; i < m_inputs.size(); ++i) {
            if (!m_inputs[i].isValid()) {
                fillIntegers(i);
            }
        }
        return std::move(m_filled);
    }

private:
    [[nodiscard]] const graph::Value& inputAt(std::size_t i) const { return m_graph.value(m_graph.inputs()[i]); }
    [[nodiscard]] static std::size_t rankOf(const graph::Value& input) { return input.shape ? input.shape->size() : 0; }
    [[nodiscard]] static bool has(const graph::Value& input, std::string_view part)
    {
        return input.name.find(part) != std::string::npos;
    }
    [[nodiscard]] static bool isPast(const graph::Value& input)
    {
        return tensor::isFloating(input.dtype) && rankOf(input) == 4 && has(input, "past");
    }

    /// Extents of the given tokens: those of a decoder, those of an encoder beside it, or of the one text that there
    /// is.
    [[nodiscard]] bool findTokens()
    {
        const auto language = languageModel(m_model);
        for (std::size_t i = 0; i < m_inputs.size(); ++i) {
            const graph::Value& input = inputAt(i);
            const bool isFloating = tensor::isFloating(input.dtype);
            const bool isFound = language && (language->input == i || language->source == i);
            const bool isTokens = isFound || (!isFloating && has(input, "input_ids"));
            const bool isEmbedded = isFloating && (has(input, "inputs_embeds") || isOfEncoder(input));
            const std::size_t rank = m_inputs[i].isValid() ? m_inputs[i].rank() : 0;
            if ((isTokens && rank == 2) || (isEmbedded && rank == 3)) {
                const std::string part = isOfEncoder(input) ? "encoder" : has(input, "decoder") ? "decoder" : "";
                m_lengths.emplace(part, m_inputs[i].shape()[1]);
                m_batch = m_inputs[i].shape()[0];
            }
        }
        m_tokens = lengthFor("");
        return !m_lengths.empty();
    }

    [[nodiscard]] static bool isOfEncoder(const graph::Value& input) { return input.name.starts_with("encoder_"); }

    /// Tokens of the text that an input goes with: of a part of the model, else of the only text.
    [[nodiscard]] std::int64_t lengthFor(const std::string& part) const
    {
        const auto own = m_lengths.find(part);
        const auto text = m_lengths.find("");
        return own != m_lengths.end()    ? own->second
               : text != m_lengths.end() ? text->second
               : m_lengths.empty()       ? 0
                                         : m_lengths.begin()->second;
    }
    [[nodiscard]] std::int64_t lengthFor(const graph::Value& input) const
    {
        return lengthFor(isOfEncoder(input) ? "encoder" : has(input, "decoder") ? "decoder" : "");
    }

    [[nodiscard]] static bool isMask(const graph::Value& input)
    {
        return has(input, "attention_mask") || has(input, "input_mask");
    }

    /// Tokens in front of the given ones: by a mask that is given, else by a past that is.
    void findPast()
    {
        for (std::size_t i = 0; i < m_inputs.size(); ++i) {
            const graph::Value& input = inputAt(i);
            if (!m_inputs[i].isValid()) {
                continue;
            }
            if (input.name.starts_with("attention_mask") && m_inputs[i].rank() == 2) {
                m_past = std::max<std::int64_t>(m_inputs[i].shape()[1] - m_tokens, 0);
                return;
            }
            if (isPast(input) && m_inputs[i].rank() == 4 && windowOf(m_graph.inputs()[i]) == 0) {
                m_past = std::max(m_past, m_inputs[i].shape()[2]);
            }
        }
    }

    void fillIntegers(std::size_t i)
    {
        const graph::Value& input = inputAt(i);
        if (tensor::isFloating(input.dtype) || rankOf(input) != 2) {
            return;
        }
        if (isMask(input)) {
            const std::int64_t all = m_past + lengthFor(input);
            std::vector<std::int64_t> mask(static_cast<std::size_t>(m_batch * all), 1);
            for (std::int64_t at = 0; at < m_batch * m_padding; ++at) {
                mask[static_cast<std::size_t>((at / m_padding + 1) * all - 1 - at % m_padding)] = 0;
            }
            m_inputs[i] = Tensor::of<std::int64_t>({m_batch, all}, mask).to(input.dtype);
            m_filled.push_back(fmt::format("{}: 1 for {} tokens", input.name, all - m_padding));
        } else if (has(input, "position_ids")) {
            const std::int64_t tokens = lengthFor(input);
            std::vector<std::int64_t> positions;
            for (std::int64_t at = 0; at < m_batch * tokens; ++at) {
                positions.push_back(m_past + at % tokens);
            }
            m_inputs[i] = Tensor::of<std::int64_t>({m_batch, tokens}, positions).to(input.dtype);
            m_filled.push_back(fmt::format("{}: {} to {}", input.name, m_past, m_past + tokens - 1));
        } else if (has(input, "token_type_ids") || has(input, "segment_ids") || has(input, "input_type_ids")) {
            m_inputs[i] = Tensor::zeros(input.dtype, {m_batch, lengthFor(input)});
            m_filled.push_back(fmt::format("{}: 0", input.name));
        }
    }

    [[nodiscard]] base::Result<void> fillPast(std::size_t i)
    {
        const graph::Value& input = inputAt(i);
        PastExtents extents{(*input.shape)[1].extent, windowOf(m_graph.inputs()[i]), (*input.shape)[3].extent};
        if (!extents.heads || !extents.width) {
            takeGraph(m_graph.inputs()[i], extents);
        }
        if (!extents.heads || !extents.width) {
            takeConfigs(extents);
        }
        if (!extents.heads || !extents.width) {
            return base::inputError("neither the model nor genai_config.json or config.json beside it tells how many "
                                    "heads this past has and how wide they are; give --input " +
                                        input.name + "=FILE.npy of batch × heads × 0 × width",
                                    fmt::format("input \"{}\"", input.name));
        }
        m_inputs[i] = Tensor::zeros(input.dtype, {m_batch, *extents.heads, extents.rows, *extents.width});
        m_filled.push_back(extents.rows == 0 ? fmt::format("{}: no tokens", input.name)
                                             : fmt::format("{}: no tokens, room for {}", input.name, extents.rows));
        return {};
    }

    /// Keys of the window that a past is kept for; 0 for one that grows.
    [[nodiscard]] std::int64_t windowOf(ValueId past) const
    {
        for (const graph::Use& use : m_graph.uses(past)) {
            const graph::Node& node = m_graph.node(use.node);
            if (ops::isCacheAppend(node) && graph::isSet(node, "sliding")) {
                return graph::intAttribute(node, "window", 0);
            }
        }
        return 0;
    }

    /// Heads and width as new keys or values lie that are put behind the past: from the Reshape into heads, and the
    /// columns of the layer in front of it.
    void takeGraph(ValueId past, PastExtents& extents) const
    {
        for (const graph::Use& use : m_graph.uses(past)) {
            const graph::Node& reader = m_graph.node(use.node);
            if (ops::isCacheAppend(reader) && use.slot == 1) {
                takeApart(reader.inputs[0], extents);
            }
        }
    }

    /// From new keys or values up to the layer that makes them, through rotations and norms. Heads: of the Reshape into
    /// them, or the part of a Split over heads. Width: the columns of the layer, or the part of a Split of them, by
    /// head.
    void takeApart(ValueId value, PastExtents& extents) const
    {
        constexpr int kMostSteps = 64;
        std::int64_t heads = extents.heads.value_or(0);
        bool areColumns = false; // heads and their width lie in one axis
        for (int steps = 0; steps < kMostSteps && m_graph.value(value).kind == graph::ValueKind::Result; ++steps) {
            const graph::Node& step = m_graph.node(m_graph.nodeOf(value));
            const std::optional<std::int64_t> columns = columnsOf(step, value, areColumns);
            if (columns) {
                const bool fits = heads > 0 && *columns % heads == 0;
                extents.width = extents.width || !fits ? extents.width : std::optional(*columns / heads);
                return;
            }
            if (step.op == "Split" && !extents.heads) {
                extents.heads = partOf(step, value);
            }
            if (const std::int64_t made = headsMadeBy(step); made > 0) {
                heads = made;
                extents.heads = extents.heads ? extents.heads : made;
                areColumns = true;
            }
            const auto carrier = std::ranges::find_if(
                step.inputs, [&](ValueId operand) { return operand.isValid() && !isConstant(operand); });
            if (carrier == step.inputs.end()) {
                return;
            }
            value = *carrier;
        }
    }

    [[nodiscard]] bool isConstant(ValueId value) const
    {
        return m_graph.value(value).kind == graph::ValueKind::Constant;
    }

    [[nodiscard]] std::optional<std::int64_t> partOf(const graph::Node& split, ValueId value) const
    {
        const Tensor parts = split.inputs.size() > 1 ? m_graph.value(split.inputs[1]).constant : Tensor();
        const auto at = std::find(split.outputs.begin(), split.outputs.end(), value) - split.outputs.begin();
        return parts.isValid() && at < parts.size() ? std::optional(static_cast<std::int64_t>(parts.at(at)))
                                                    : std::nullopt;
    }

    /// Of a Reshape into batch × tokens × heads × width; 0 of other nodes.
    [[nodiscard]] std::int64_t headsMadeBy(const graph::Node& node) const
    {
        const Tensor shape = node.op == "Reshape" ? m_graph.value(node.inputs[1]).constant : Tensor();
        return shape.isValid() && shape.size() == 4 ? static_cast<std::int64_t>(shape.at(2)) : 0;
    }

    /// Columns of a linear layer, or of a part that is cut out of them; nothing of other nodes.
    [[nodiscard]] std::optional<std::int64_t> columnsOf(const graph::Node& node, ValueId made, bool areColumns) const
    {
        if (node.op == "MatMulNBits") {
            return graph::intAttribute(node, "N", 0);
        }
        if (node.op == "Split" && areColumns) {
            return partOf(node, made);
        }
        const bool isLayer = ops::isProduct(node) && isConstant(node.inputs[1]);
        if (!isLayer) {
            return std::nullopt;
        }
        const graph::Value& weight = m_graph.value(node.inputs[1]);
        const bool isTurned = graph::isSet(node, "transB");
        if (weight.constant.isValid() && weight.constant.rank() == 2) {
            return weight.constant.shape()[isTurned ? 0 : 1];
        }
        const bool isKnown = weight.shape && weight.shape->size() == 2;
        return isKnown ? (*weight.shape)[isTurned ? 0 : 1].extent : std::nullopt;
    }

    /// genai_config.json, then config.json, of the folder of the model.
    void takeConfigs(PastExtents& extents) const
    {
        for (const ModelConfig& config : modelConfigs(m_model)) {
            const auto heads = config.number({"num_attention_heads", "n_head"});
            const auto hidden = config.number({"hidden_size", "n_embd"});
            if (!extents.heads) {
                extents.heads = config.number({"num_key_value_heads", "num_attention_heads", "n_head"});
            }
            if (!extents.width) {
                extents.width = config.number({"head_size", "head_dim"});
            }
            if (!extents.width && heads && hidden && *hidden % *heads == 0) {
                extents.width = *hidden / *heads;
            }
        }
    }

    const LoadedModel& m_model;
    const graph::Graph& m_graph;
    std::vector<Tensor>& m_inputs;
    std::vector<std::string> m_filled;
    std::int64_t m_padding;
    std::int64_t m_batch = 0;
    std::int64_t m_tokens = 0;
    std::map<std::string, std::int64_t>
        m_lengths; ///< tokens, by part of the model: "encoder", "decoder", or "" (one text)
    std::int64_t m_past = 0;
};

} // namespace

base::Result<std::vector<std::string>> fillLanguageInputs(const LoadedModel& model, std::vector<Tensor>& inputs,
                                                          std::int64_t padding)
{
    return InputFiller(model, inputs, padding).run();
}

} // namespace retro::engine
