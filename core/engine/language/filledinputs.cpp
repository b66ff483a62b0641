// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/filledinputs.h"

#include "core/engine/language/modelconfig.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;
using tensor::DType;
using tensor::Shape;
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
    InputFiller(const LoadedModel& model, std::vector<Tensor>& inputs)
        : m_model(model), m_graph(*model.graph()), m_inputs(inputs)
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

    [[nodiscard]] bool findTokens()
    {
        for (std::size_t i = 0; i < m_inputs.size(); ++i) {
            const graph::Value& input = inputAt(i);
            const bool isTokens = !tensor::isFloating(input.dtype) && has(input, "input_ids");
            const bool isEmbedded = tensor::isFloating(input.dtype) && has(input, "inputs_embeds");
            const std::size_t rank = m_inputs[i].isValid() ? m_inputs[i].rank() : 0;
            if ((isTokens && rank == 2) || (isEmbedded && rank == 3)) {
                m_batch = m_inputs[i].shape()[0];
                m_tokens = m_inputs[i].shape()[1];
                return true;
            }
        }
        return false;
    }

    /// Tokens in front of the given ones: by a mask that is given, else by a past that is.
    void findPast()
    {
        for (std::size_t i = 0; i < m_inputs.size(); ++i) {
            const graph::Value& input = inputAt(i);
            if (!m_inputs[i].isValid()) {
                continue;
            }
            if (has(input, "attention_mask") && m_inputs[i].rank() == 2) {
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
        if (has(input, "attention_mask")) {
            const std::int64_t all = m_past + m_tokens;
            m_inputs[i] = Tensor::full(DType::Int64, {m_batch, all}, 1).to(input.dtype);
            m_filled.push_back(fmt::format("{}: 1 for {} tokens", input.name, all));
        } else if (has(input, "position_ids")) {
            std::vector<std::int64_t> positions;
            for (std::int64_t at = 0; at < m_batch * m_tokens; ++at) {
                positions.push_back(m_past + at % m_tokens);
            }
            m_inputs[i] = Tensor::of<std::int64_t>({m_batch, m_tokens}, positions).to(input.dtype);
            m_filled.push_back(fmt::format("{}: {} to {}", input.name, m_past, m_past + m_tokens - 1));
        } else if (has(input, "token_type_ids")) {
            m_inputs[i] = Tensor::zeros(input.dtype, {m_batch, m_tokens});
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
            if (node.op == "CacheAppend" && node.domain == "retrograde" && integer(node, "sliding") != 0) {
                return integer(node, "window");
            }
        }
        return 0;
    }

    [[nodiscard]] static std::int64_t integer(const graph::Node& node, const char* name)
    {
        const auto at = node.attributes.find(name);
        const auto* value = at == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&at->second);
        return value == nullptr ? 0 : *value;
    }

    /// Heads and width as new keys or values lie that are put behind the past: from the Reshape into heads, and the
    /// columns of the layer in front of it.
    void takeGraph(ValueId past, PastExtents& extents) const
    {
        for (const graph::Use& use : m_graph.uses(past)) {
            const graph::Node& reader = m_graph.node(use.node);
            if (reader.op == "CacheAppend" && reader.domain == "retrograde" && use.slot == 1) {
                takeApart(reader.inputs[0], extents);
            }
        }
    }

    void takeApart(ValueId value, PastExtents& extents) const
    {
        static constexpr std::array<std::string_view, 4> kBetween{"Transpose", "RotaryEmbedding", "RMSNormalization",
                                                                  "Split"};
        for (NodeId node = m_graph.nodeOf(value); node.isValid() && !m_graph.isInput(node);
             node = m_graph.nodeOf(value)) {
            const graph::Node& step = m_graph.node(node);
            if (step.op == "Split" && step.inputs.size() > 1 && !extents.heads) {
                takePart(step, value, extents);
            }
            if (step.op == "Reshape") {
                takeColumns(step, extents);
                return;
            }
            if (std::find(kBetween.begin(), kBetween.end(), step.op) == kBetween.end()) {
                return;
            }
            value = step.inputs[0];
        }
    }

    void takePart(const graph::Node& split, ValueId value, PastExtents& extents) const
    {
        const Tensor& parts = m_graph.value(split.inputs[1]).constant;
        const auto at = std::find(split.outputs.begin(), split.outputs.end(), value) - split.outputs.begin();
        if (parts.isValid() && at < parts.size()) {
            extents.heads = static_cast<std::int64_t>(parts.at(at));
        }
    }

    void takeColumns(const graph::Node& reshape, PastExtents& extents) const
    {
        const Tensor& shape = m_graph.value(reshape.inputs[1]).constant;
        const std::optional<std::int64_t> columns = columnsOf(reshape.inputs[0]);
        const std::int64_t heads = shape.isValid() && shape.size() == 4 ? static_cast<std::int64_t>(shape.at(2)) : 0;
        if (heads > 0) {
            extents.heads = extents.heads ? extents.heads : heads;
        }
        if (heads > 0 && columns && *columns % heads == 0) {
            extents.width = *columns / heads;
        }
    }

    /// Columns of a linear layer, through the sum with its bias.
    [[nodiscard]] std::optional<std::int64_t> columnsOf(ValueId value) const
    {
        const NodeId node = m_graph.nodeOf(value);
        if (!node.isValid() || m_graph.isInput(node)) {
            return std::nullopt;
        }
        const graph::Node& layer = m_graph.node(node);
        if (layer.op == "MatMulNBits") {
            return integer(layer, "N");
        }
        for (std::size_t slot = 1; slot < layer.inputs.size(); ++slot) {
            const graph::Value& own = m_graph.value(layer.inputs[slot]);
            if (own.kind == graph::ValueKind::Constant && own.shape && !own.shape->empty()) {
                return own.shape->back().extent;
            }
            if (own.kind == graph::ValueKind::Constant && own.constant.isValid() && own.constant.rank() > 0) {
                return own.constant.shape().back();
            }
        }
        return std::nullopt;
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
    std::int64_t m_batch = 0;
    std::int64_t m_tokens = 0;
    std::int64_t m_past = 0;
};

} // namespace

base::Result<std::vector<std::string>> fillLanguageInputs(const LoadedModel& model, std::vector<Tensor>& inputs)
{
    return InputFiller(model, inputs).run();
}

} // namespace retro::engine
