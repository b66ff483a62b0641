// SPDX-License-Identifier: Apache-2.0
#include "core/formats/blockedchannels.h"

#include "core/formats/onnxschema.pb.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

namespace retro::formats
{

using onnxschema::AttributeProto;
using onnxschema::GraphProto;
using onnxschema::NodeProto;
using onnxschema::ValueInfoProto;
using tensor::Tensor;

namespace
{

std::int64_t intOf(const NodeProto& node, std::string_view name, std::int64_t fallback)
{
    const auto at = std::find_if(node.attribute().begin(), node.attribute().end(),
                                 [name](const AttributeProto& attribute) { return attribute.name() == name; });
    return at == node.attribute().end() ? fallback : at->i();
}

/// Elements of a window.
std::int64_t windowOf(const Tensor& weight)
{
    const auto& shape = weight.shape();
    return std::accumulate(shape.begin() + 2, shape.end(), std::int64_t{1}, std::multiplies<>());
}

} // namespace

BlockedChannels::BlockedChannels(const GraphProto& graph) : m_graph(graph)
{
    for (const auto& constant : graph.initializer()) {
        m_extents[constant.name()].assign(constant.dims().begin(), constant.dims().end());
    }
    for (const auto* list : {&graph.input(), &graph.value_info()}) {
        for (const ValueInfoProto& value : *list) {
            const auto& shape = value.type().tensor_type().shape();
            if (shape.dim_size() > 1 && shape.dim(1).dim_value() > 0) {
                m_declared[value.name()] = shape.dim(1).dim_value();
            }
        }
    }
    for (const NodeProto& node : graph.node()) {
        addNode(node);
    }
}

std::size_t BlockedChannels::classOf(const std::string& value)
{
    const auto [at, isNew] = m_class.try_emplace(value, m_parent.size());
    if (isNew) {
        m_parent.push_back(m_parent.size());
        m_said.emplace_back();
        m_least.push_back(1);
    }
    return rootOf(value);
}

std::size_t BlockedChannels::rootOf(const std::string& value) const
{
    std::size_t at = m_class.at(value);
    while (m_parent[at] != at) {
        m_parent[at] = m_parent[m_parent[at]];
        at = m_parent[at];
    }
    return at;
}

void BlockedChannels::join(const std::string& a, const std::string& b)
{
    const std::size_t first = classOf(a);
    const std::size_t second = classOf(b);
    m_parent[second] = first;
    m_said[first] = m_said[first] ? m_said[first] : m_said[second];
    m_least[first] = std::max(m_least[first], m_least[second]);
}

void BlockedChannels::say(const std::string& value, std::int64_t channels) { m_said[classOf(value)] = channels; }

void BlockedChannels::widen(const std::string& value, std::int64_t channels)
{
    std::int64_t& least = m_least[classOf(value)];
    least = std::max(least, channels);
}

std::optional<std::int64_t> BlockedChannels::channels(const std::string& value) const
{
    const auto at = m_class.find(value);
    if (at == m_class.end()) {
        return std::nullopt;
    }
    const std::size_t root = rootOf(value);
    return m_said[root] ? m_said[root] : std::optional(m_least[root]);
}

bool BlockedChannels::isSaid(const std::string& value) const { return isBlocked(value) && m_said[rootOf(value)]; }

BlockedWeight BlockedChannels::layoutOf(const NodeProto& conv) const
{
    const auto extents = conv.input_size() > 1 ? m_extents.find(conv.input(1)) : m_extents.end();
    const bool isDepthwise = extents != m_extents.end() && extents->second.size() > 1 && extents->second[1] == 1 &&
                             intOf(conv, "group", 1) == extents->second[0];
    return isBlocked(conv.input(0)) && !isDepthwise ? BlockedWeight::Both : BlockedWeight::FiltersOnly;
}

/// Blocks of 16 fill up to multiples of 16; a Conv that reads the standard's layout has fewer channels than a block.
void BlockedChannels::takeEvidence(const NodeProto& conv)
{
    const auto extents = conv.input_size() > 1 ? m_extents.find(conv.input(1)) : m_extents.end();
    if (extents == m_extents.end() || extents->second.size() < 3) {
        return;
    }
    const std::int64_t filters = extents->second[0];
    const std::int64_t inputs = extents->second[1];
    const bool isBoth = layoutOf(conv) == BlockedWeight::Both;
    m_fitsSixteen = m_fitsSixteen && filters % 16 == 0 && (!isBoth || inputs % 16 == 0);
    m_fitsEight = m_fitsEight && (isBlocked(conv.input(0)) || inputs < 8);
    m_made[conv.output(0)] = filters;
}

/// Back to the standard's layout, with the channels that it says.
void BlockedChannels::addReorderOutput(const NodeProto& node)
{
    const std::string& x = node.input(0);
    const std::int64_t channels = intOf(node, "channels", 0);
    if (isBlocked(x) && channels > 0) {
        say(x, channels);
        const auto made = m_made.find(x);
        m_fitsEight = m_fitsEight && (made == m_made.end() || made->second - channels < 8);
    }
}

void BlockedChannels::addReorderInput(const NodeProto& node)
{
    const auto declared = m_declared.find(node.input(0));
    if (declared != m_declared.end() && intOf(node, "channels_last", 0) == 0) {
        say(node.output(0), declared->second);
    }
}

void BlockedChannels::addBlockedConv(const NodeProto& node)
{
    const std::string& x = node.input(0);
    const std::string& y = node.output(0);
    takeEvidence(node);
    if (isBlocked(x) && layoutOf(node) == BlockedWeight::FiltersOnly) {
        join(x, y); // depthwise
    }
    if (node.input_size() > 3 && !node.input(3).empty()) {
        join(node.input(3), y);
    }
}

void BlockedChannels::addBlockedNode(const NodeProto& node)
{
    const std::string& op = node.op_type();
    if (op == "ReorderOutput") {
        addReorderOutput(node);
        return;
    }
    const std::string& x = node.input(0);
    const std::string& y = node.output(0);
    classOf(y);
    if (op == "ReorderInput") {
        addReorderInput(node);
        return;
    }
    if (op == "Conv") {
        addBlockedConv(node);
        return;
    }
    join(x, y);
    if (const auto made = m_made.find(x); made != m_made.end()) {
        m_made[y] = made->second;
    }
}

void BlockedChannels::addNode(const NodeProto& node)
{
    if (node.input_size() == 0 || node.output_size() == 0) {
        return;
    }
    if (node.domain() == kBlockedDomain) {
        addBlockedNode(node);
        return;
    }
    const auto isOne = [this](const std::string& input) { return isBlocked(input); };
    if (std::none_of(node.input().begin(), node.input().end(), isOne)) {
        return;
    }
    classOf(node.output(0));
    if (node.op_type() == "Concat") { // its operands fill whole blocks
        addConcat(node);
        return;
    }
    for (const std::string& input : node.input()) {
        if (isBlocked(input)) {
            join(input, node.output(0));
            if (const auto made = m_made.find(input); made != m_made.end()) {
                m_made[node.output(0)] = made->second;
            }
        }
    }
}

void BlockedChannels::addConcat(const NodeProto& node)
{
    std::int64_t together = 0;
    for (const std::string& input : node.input()) {
        const auto made = m_made.find(input);
        if (made == m_made.end()) {
            return;
        }
        together += made->second;
        say(input, made->second);
    }
    m_made[node.output(0)] = together;
    say(node.output(0), together);
}

std::vector<std::int64_t> BlockedChannels::widths() const
{
    std::vector<std::int64_t> fitting;
    if (m_fitsEight) {
        fitting.push_back(8);
    }
    if (m_fitsSixteen) {
        fitting.push_back(16);
    }
    return fitting;
}

std::int64_t blockWidthHere()
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") != 0 ? 16 : 8;
#else
    return 16;
#endif
}

base::Result<Tensor> unblockedWeight(const Tensor& blocked, BlockedWeight layout, std::int64_t width)
{
    const auto& shape = blocked.shape();
    const bool isBoth = layout == BlockedWeight::Both;
    if (shape.size() < 3 || shape[0] % width != 0 || (isBoth && shape[1] % width != 0)) {
        return base::inputError(fmt::format("weights of shape [{}] do not divide into blocks of {} channels",
                                            tensor::toText(shape), width));
    }
    const std::int64_t window = windowOf(blocked);
    const std::int64_t inner = isBoth ? width : 1;
    const Tensor given = blocked.contiguous();
    tensor::TensorBuffer plain(tensor::DType::Float32, shape);
    const auto from = given.span<float>();
    const auto to = plain.data<float>();
    for (std::int64_t o = 0; o < shape[0]; ++o) {
        for (std::int64_t i = 0; i < shape[1]; ++i) {
            const std::int64_t block = (o / width) * (shape[1] / inner) + i / inner;
            for (std::int64_t s = 0; s < window; ++s) {
                const std::int64_t at = ((block * window + s) * inner + i % inner) * width + o % width;
                to[static_cast<std::size_t>((o * shape[1] + i) * window + s)] = from[static_cast<std::size_t>(at)];
            }
        }
    }
    return std::move(plain).freeze();
}

std::int64_t usedExtent(const Tensor& weight, std::size_t axis)
{
    const auto& shape = weight.shape();
    const std::int64_t window = windowOf(weight);
    const auto values = weight.span<float>();
    std::int64_t used = 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (values[k] != 0) {
            const std::int64_t filterAndChannel = static_cast<std::int64_t>(k) / window;
            used = std::max(used, (axis == 0 ? filterAndChannel / shape[1] : filterAndChannel % shape[1]) + 1);
        }
    }
    return used;
}

Tensor firstChannels(const Tensor& weight, std::int64_t filters, std::int64_t channels)
{
    tensor::Shape shape = weight.shape();
    const std::int64_t whole = shape[1];
    const std::int64_t window = windowOf(weight);
    shape[0] = std::min(shape[0], filters);
    shape[1] = std::min(shape[1], channels);
    tensor::TensorBuffer part(tensor::DType::Float32, shape);
    const auto from = weight.span<float>();
    const auto to = part.data<float>();
    for (std::int64_t o = 0; o < shape[0]; ++o) {
        const auto* row = from.data() + o * whole * window;
        std::copy_n(row, shape[1] * window, to + o * shape[1] * window);
    }
    return std::move(part).freeze();
}

} // namespace retro::formats
