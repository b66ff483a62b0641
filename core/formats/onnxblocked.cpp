// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxblocked.h"

#include "core/formats/blockedchannels.h"
#include "core/formats/known/channelslast.h"
#include "core/formats/onnxattributes.h"
#include "core/formats/onnxnames.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxtensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

namespace retro::formats
{

using base::inputError;
using base::Result;
using onnxschema::AttributeProto;
using onnxschema::GraphProto;
using onnxschema::ModelProto;
using onnxschema::NodeProto;
using onnxschema::TensorProto;
using tensor::Tensor;

namespace
{

constexpr std::int64_t kResizeByScales = 11; ///< version since which Resize is what it is

bool isBlockedConv(const NodeProto& node) { return node.domain() == kBlockedDomain && node.op_type() == "Conv"; }

AttributeProto* attributeNamed(NodeProto& node, std::string_view name)
{
    const auto at = std::find_if(node.mutable_attribute()->begin(), node.mutable_attribute()->end(),
                                 [name](const AttributeProto& attribute) { return attribute.name() == name; });
    return at == node.mutable_attribute()->end() ? nullptr : &*at;
}

/// A Conv's weight and bias in the standard's layout, filled up.
struct PlainLayer
{
    Tensor weight;
    Tensor bias; ///< invalid when there is none
    BlockedWeight layout = BlockedWeight::Both;
};

/// Last element that is not 0, plus one.
std::int64_t usedLength(const Tensor& bias)
{
    const auto values = bias.span<float>();
    std::size_t used = values.size();
    while (used > 0 && values[used - 1] == 0) {
        --used;
    }
    return static_cast<std::int64_t>(used);
}

Tensor firstOf(const Tensor& bias, std::int64_t count)
{
    const auto values = bias.span<float>();
    const auto kept = std::min<std::size_t>(values.size(), static_cast<std::size_t>(count));
    return Tensor::of<float>({static_cast<std::int64_t>(kept)}, {values.begin(), values.begin() + kept});
}

class Unblocker
{
public:
    Unblocker(ModelProto& model, const std::filesystem::path& folder)
        : m_graph(*model.mutable_graph()), m_folder(folder), m_channels(m_graph)
    {
        const GraphProto& graph = m_graph;
        for (const auto& import : model.opset_import()) {
            m_opset = import.domain().empty() ? import.version() : m_opset;
        }
        for (const TensorProto& constant : graph.initializer()) {
            m_constants[constant.name()] = &constant;
        }
    }

    Result<void> run(std::vector<InlinedFunction>* notes)
    {
        RETRO_TRY(const std::int64_t width, widthOfBlocks(notes));
        RETRO_CHECK(readLayers(width));
        std::vector<TensorProto> constants;
        for (NodeProto& node : *m_graph.mutable_node()) {
            if (node.domain() == kBlockedDomain) {
                RETRO_CHECK(in(node, rewrite(node, constants)));
            }
        }
        dropUnread();
        for (TensorProto& constant : constants) {
            *m_graph.add_initializer() = std::move(constant);
        }
        forgetShapes();
        return {};
    }

private:
    template <class T>
    static Result<T> in(const NodeProto& node, Result<T> result)
    {
        return result.ok() ? std::move(result) : Result<T>(base::within(std::move(result).error(), placeOf(node)));
    }

    Result<Tensor> constantOf(const std::string& name) const
    {
        const auto at = m_constants.find(name);
        if (at == m_constants.end()) {
            return inputError("its weights are computed, and only constant ones can be put in order; save the model at "
                              "the optimisation level extended");
        }
        RETRO_TRY(const Tensor data, fromTensorProto(*at->second, m_folder));
        if (data.dtype() != tensor::DType::Float32) {
            return inputError("its weights are not float32; save the model at the optimisation level extended");
        }
        return data.contiguous();
    }

    Result<PlainLayer> layerOf(const NodeProto& conv, std::int64_t width) const
    {
        if (conv.input_size() < 2 || conv.output_size() != 1) {
            return inputError("it needs an operand, weights and one output");
        }
        PlainLayer layer;
        layer.layout = m_channels.layoutOf(conv);
        RETRO_TRY(const Tensor blocked, constantOf(conv.input(1)));
        RETRO_TRY(layer.weight, unblockedWeight(blocked, layer.layout, width));
        if (conv.input_size() > 2 && !conv.input(2).empty()) {
            RETRO_TRY(layer.bias, constantOf(conv.input(2)));
        }
        return layer;
    }

    /// Filters and channels of a layer that are not 0.
    static std::pair<std::int64_t, std::int64_t> usedBy(const PlainLayer& layer)
    {
        const std::int64_t filters =
            std::max(usedExtent(layer.weight, 0), layer.bias.isValid() ? usedLength(layer.bias) : 0);
        return {filters, usedExtent(layer.weight, 1)};
    }

    /// With blocks of this width, what fills them up is 0 wherever the graph says how many channels there are.
    Result<bool> isConsistent(std::int64_t width) const
    {
        for (const NodeProto& node : m_graph.node()) {
            if (!isBlockedConv(node)) {
                continue;
            }
            RETRO_TRY(const PlainLayer layer, in(node, layerOf(node, width)));
            const auto [filters, channels] = usedBy(layer);
            const bool tooMany = m_channels.isSaid(node.output(0)) && filters > *m_channels.channels(node.output(0));
            const bool tooWide = layer.layout == BlockedWeight::Both && m_channels.isSaid(node.input(0)) &&
                                 group(node) == 1 && channels > *m_channels.channels(node.input(0));
            if (tooMany || tooWide) {
                return false;
            }
        }
        return true;
    }

    static std::int64_t group(const NodeProto& node)
    {
        for (const AttributeProto& attribute : node.attribute()) {
            if (attribute.name() == "group") {
                return attribute.i();
            }
        }
        return 1;
    }

    Result<std::int64_t> widthOfBlocks(std::vector<InlinedFunction>* notes) const
    {
        std::vector<std::int64_t> widths;
        for (const std::int64_t width : m_channels.widths()) {
            RETRO_TRY(const bool isConsistent, this->isConsistent(width));
            if (isConsistent) {
                widths.push_back(width);
            }
        }
        if (widths.empty()) {
            return inputError("its layers lie in blocks of channels (com.microsoft.nchwc) whose weights fit blocks of "
                              "neither 8 nor 16; save the model at the optimisation level extended");
        }
        const std::int64_t width = widths.size() == 1 ? widths.front() : blockWidthHere();
        if (notes != nullptr) {
            notes->push_back(
                {{},
                 {},
                 {},
                 fmt::format("layers in blocks of {} channels (com.microsoft.nchwc) are put in "
                             "the standard's layout{}",
                             width,
                             widths.size() == 1 ? ""
                                                : "; the file does not say how wide its blocks are: this is "
                                                  "the width on this machine, as onnxruntime takes it, and "
                                                  "the numbers mean nothing if the file is from a machine "
                                                  "with another one")});
        }
        return width;
    }

    Result<void> readLayers(std::int64_t width)
    {
        for (const NodeProto& node : m_graph.node()) {
            if (!isBlockedConv(node)) {
                continue;
            }
            RETRO_TRY(PlainLayer layer, in(node, layerOf(node, width)));
            const auto [filters, channels] = usedBy(layer);
            m_channels.widen(node.output(0), filters);
            if (layer.layout == BlockedWeight::Both && group(node) == 1) {
                m_channels.widen(node.input(0), channels);
            }
            m_layers.emplace(node.output(0), std::move(layer));
        }
        return {};
    }

    Result<void> rewrite(NodeProto& node, std::vector<TensorProto>& constants)
    {
        const std::string op = node.op_type();
        if (node.input_size() < 1 || node.output_size() < 1) {
            return inputError("an operand or an output is missing");
        }
        if (op == "Conv") {
            rewriteConv(node, constants);
            return {};
        }
        if (op == "ReorderInput" || op == "ReorderOutput") {
            rewriteReorder(node);
            return {};
        }
        if (op == "Upsample") {
            return rewriteUpsample(node, constants);
        }
        const bool isPool = op == "MaxPool" || op == "AveragePool";
        if (!isPool && op != "GlobalMaxPool" && op != "GlobalAveragePool") {
            return inputError("this operator of com.microsoft.nchwc is not known; save the model at the optimisation "
                              "level extended");
        }
        node.clear_domain();
        return {};
    }

    void rewriteConv(NodeProto& node, std::vector<TensorProto>& constants)
    {
        const PlainLayer& layer = m_layers.at(node.output(0));
        const std::int64_t filters = *m_channels.channels(node.output(0));
        const bool isDepthwise = m_channels.isBlocked(node.input(0)) && layer.layout == BlockedWeight::FiltersOnly;
        const bool isWhole = !isDepthwise && group(node) != 1;
        const bool isSliced = layer.layout == BlockedWeight::Both && !isWhole;
        const std::int64_t channels = isSliced ? *m_channels.channels(node.input(0)) : layer.weight.shape()[1];
        m_wasRead.insert(node.input().begin() + 1, node.input().end());
        node.set_domain("com.microsoft");
        node.set_op_type("FusedConv");
        node.set_resolved_opset(1);
        const std::int64_t kept = isWhole ? layer.weight.shape()[0] : filters;
        node.set_input(1, addConstant(node, "weight", firstChannels(layer.weight, kept, channels), constants));
        if (layer.bias.isValid()) {
            node.set_input(2, addConstant(node, "bias", firstOf(layer.bias, kept), constants));
        }
        if (AttributeProto* groups = isDepthwise ? attributeNamed(node, "group") : nullptr; groups != nullptr) {
            groups->set_i(std::min(kept, layer.weight.shape()[0]));
        }
    }

    static std::string addConstant(const NodeProto& node, const char* what, const Tensor& data,
                                   std::vector<TensorProto>& constants)
    {
        TensorProto& constant = constants.emplace_back();
        toTensorProto(data, constant);
        constant.set_name(fmt::format("{}/{} in order", node.output(0), what));
        return constant.name();
    }

    /// Between layouts of positions only: channels are in order already.
    static void rewriteReorder(NodeProto& node)
    {
        const AttributeProto* last = attributeNamed(node, "channels_last");
        const bool isLast = last != nullptr && last->i() != 0;
        const bool isInput = node.op_type() == "ReorderInput";
        node.clear_domain();
        node.clear_attribute();
        node.set_op_type(isLast ? "Transpose" : "Identity");
        if (isLast) {
            writeAttribute("perm", isInput ? channelsFirst(4) : channelsLast(4), *node.add_attribute());
        }
    }

    Result<void> rewriteUpsample(NodeProto& node, std::vector<TensorProto>& constants) const
    {
        const AttributeProto* scales = attributeNamed(node, "scales");
        const AttributeProto* mode = attributeNamed(node, "mode");
        const AttributeProto* how = attributeNamed(node, "coordinate_transformation_mode");
        if (scales == nullptr || scales->ints_size() < 3) {
            return inputError("it has no scales; save the model at the optimisation level extended");
        }
        const std::vector<float> factors(scales->ints().begin(), scales->ints().end());
        const std::string modeText = mode == nullptr ? "nearest" : mode->s();
        const std::string howText = modeText == "nearest" || how == nullptr ? "asymmetric" : how->s();
        node.clear_domain();
        node.clear_attribute();
        node.set_op_type("Resize");
        if (m_opset < kResizeByScales) {
            node.set_resolved_opset(13);
        }
        writeAttribute("mode", modeText, *node.add_attribute());
        writeAttribute("coordinate_transformation_mode", howText, *node.add_attribute());
        writeAttribute("nearest_mode", std::string("floor"), *node.add_attribute());
        node.add_input("");
        node.add_input(addConstant(node, "scales",
                                   Tensor::of<float>({static_cast<std::int64_t>(factors.size())}, factors), constants));
        return {};
    }

    /// Constants that nobody reads any more.
    void dropUnread()
    {
        std::unordered_set<std::string> read;
        for (const NodeProto& node : m_graph.node()) {
            read.insert(node.input().begin(), node.input().end());
        }
        std::unordered_set<std::string> gone;
        for (const auto& [name, constant] : m_constants) {
            if (m_wasRead.contains(name) && !read.contains(name)) {
                gone.insert(name);
            }
        }
        const auto isGone = [&gone](const auto& one) { return gone.contains(one.name()); };
        auto& constants = *m_graph.mutable_initializer();
        constants.erase(std::remove_if(constants.begin(), constants.end(), isGone), constants.end());
        auto& inputs = *m_graph.mutable_input(); // older files list constants among the inputs
        inputs.erase(std::remove_if(inputs.begin(), inputs.end(), isGone), inputs.end());
    }

    /// Declared shapes of values count the channels that fill blocks up.
    void forgetShapes()
    {
        auto& declared = *m_graph.mutable_value_info();
        declared.erase(std::remove_if(declared.begin(), declared.end(),
                                      [this](const auto& value) { return m_channels.isBlocked(value.name()); }),
                       declared.end());
    }

    GraphProto& m_graph;
    const std::filesystem::path& m_folder;
    BlockedChannels m_channels;
    std::map<std::string, const TensorProto*> m_constants;
    std::map<std::string, PlainLayer> m_layers; ///< by output
    std::unordered_set<std::string> m_wasRead;
    std::int64_t m_opset = 0; ///< of ai.onnx
};

} // namespace

bool hasBlockedChannels(const ModelProto& model)
{
    const auto isBlocked = [](const NodeProto& node) { return node.domain() == kBlockedDomain; };
    const GraphProto& graph = model.graph();
    return std::any_of(graph.node().begin(), graph.node().end(), isBlocked);
}

Result<void> unblockChannels(ModelProto& model, const std::filesystem::path& folder,
                             std::vector<InlinedFunction>* notes)
{
    return hasBlockedChannels(model) ? Unblocker(model, folder).run(notes) : Result<void>();
}

} // namespace retro::formats
