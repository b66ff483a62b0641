// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxexpansion.h"

#include "core/formats/onnxschema.pb.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <vector>

namespace retro::formats
{

using base::Result;
using onnxschema::AttributeProto;
using onnxschema::FunctionProto;
using onnxschema::NodeProto;

namespace
{

constexpr std::uint64_t kBytesOfNode = 512;   // of a node without texts and attributes
constexpr std::uint64_t kBytesOfFormal = 128; // of an input, output or default of a function, for each call
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a > kMost - b ? kMost : a + b; }
std::uint64_t times(std::uint64_t a, std::uint64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }

void add(Expansion& to, const Expansion& more)
{
    to.nodes = plus(to.nodes, more.nodes);
    to.bytes = plus(to.bytes, more.bytes);
    to.names = plus(to.names, more.names);
    to.references = plus(to.references, more.references);
}

template <class Texts>
std::uint64_t longestOf(const Texts& texts)
{
    std::uint64_t longest = 0;
    for (const std::string& text : texts) {
        longest = std::max<std::uint64_t>(longest, text.size());
    }
    return longest;
}

struct FunctionNode
{
    const NodeProto* node = nullptr;
    bool isNested = false; ///< its bytes are among those of the node around it
};

/// Every node of a function, also inside its nested graphs, which are as deep as the decoder lets messages be nested.
template <class Nodes>
void collectNodes(const Nodes& nodes, bool isNested, std::vector<FunctionNode>& found)
{
    for (const NodeProto& node : nodes) {
        found.push_back({&node, isNested});
        for (const AttributeProto& attribute : node.attribute()) {
            if (attribute.has_g()) {
                collectNodes(attribute.g().node(), true, found);
            }
        }
    }
}

template <class Attributes>
std::uint64_t largestOf(const Attributes& attributes)
{
    std::uint64_t largest = 0;
    for (const AttributeProto& attribute : attributes) {
        largest = std::max<std::uint64_t>(largest, attribute.ByteSizeLong());
    }
    return largest;
}

std::uint64_t referencesOf(const NodeProto& node)
{
    return static_cast<std::uint64_t>(
        std::ranges::count_if(node.attribute(), [](const auto& one) { return !one.ref_attr_name().empty(); }));
}

template <class Texts>
std::uint64_t formalBytes(const Texts& texts)
{
    std::uint64_t bytes = 0;
    for (const std::string& text : texts) {
        bytes = plus(bytes, kBytesOfFormal + text.size());
    }
    return bytes;
}

/// What a call notes of its function, whether a node of the function reads it or not.
std::uint64_t formalBytesOf(const FunctionProto& function)
{
    std::uint64_t bytes = plus(formalBytes(function.input()), formalBytes(function.output()));
    for (const AttributeProto& attribute : function.attribute_proto()) {
        bytes = plus(bytes, kBytesOfFormal + attribute.name().size());
    }
    return bytes;
}

/// What a node of a function becomes, without what a call in it makes.
Expansion ofNode(const FunctionNode& one, std::uint64_t largestDefault)
{
    const NodeProto& node = *one.node;
    Expansion own;
    own.nodes = 1;
    own.references = referencesOf(node);
    own.names = 2 + static_cast<std::uint64_t>(node.input_size()) + static_cast<std::uint64_t>(node.output_size());
    own.bytes = plus(kBytesOfNode + node.op_type().size() + node.name().size(), one.isNested ? 0 : node.ByteSizeLong());
    own.bytes = plus(own.bytes, times(own.references, largestDefault));
    return own;
}

} // namespace

Expansion ExpansionCounter::ofCall(const NodeProto& call, const FunctionProto& function)
{
    count(function);
    Expansion made = m_done.at(&function);
    const std::uint64_t label = (call.name().empty() ? call.op_type() : call.name()).size() + 1;
    const std::uint64_t longest = std::max(longestOf(call.input()), longestOf(call.output()));
    made.bytes = plus(made.bytes, times(made.names, plus(label, longest)));
    made.bytes = plus(made.bytes, times(made.references, largestOf(call.attribute())));
    return made;
}

/// Depth first with a stack of its own: a file can have chains of any length.
void ExpansionCounter::count(const FunctionProto& function)
{
    struct Open
    {
        const FunctionProto* function = nullptr;
        std::vector<FunctionNode> nodes;
        std::size_t next = 0;
        std::uint64_t largestDefault = 0;
        Expansion sum;
    };
    const auto opened = [](const FunctionProto& one) {
        Open open{&one, {}, 0, largestOf(one.attribute_proto()), {}};
        collectNodes(one.node(), false, open.nodes);
        const auto results = static_cast<std::uint64_t>(one.output_size()); // each may get a node that hands on
        const std::uint64_t handedOn = times(results, kBytesOfNode + longestOf(one.output()));
        open.sum = {results, plus(handedOn, formalBytesOf(one)), times(results, 4), 0};
        return open;
    };
    if (m_done.contains(&function)) {
        return;
    }
    std::unordered_set<const FunctionProto*> inWork{&function};
    std::vector<Open> stack;
    stack.push_back(opened(function));
    while (!stack.empty()) {
        Open& top = stack.back();
        if (top.next == top.nodes.size()) {
            m_done.emplace(top.function, top.sum);
            inWork.erase(top.function);
            stack.pop_back();
            continue;
        }
        const FunctionNode& node = top.nodes[top.next];
        const FunctionProto* called = m_functionOf(*node.node);
        if (called != nullptr && !m_done.contains(called) && inWork.insert(called).second) {
            stack.push_back(opened(*called)); // the node comes again when that is done
            continue;
        }
        add(top.sum, ofNode(node, top.largestDefault));
        if (called != nullptr && m_done.contains(called)) {
            add(top.sum, ofCall(*node.node, *called));
        }
        ++top.next;
    }
}

Result<void> ExpansionBudget::take(const Expansion& expansion)
{
    m_nodes = plus(m_nodes, expansion.nodes);
    m_bytes = plus(m_bytes, expansion.bytes);
    if (m_nodes > kMaxExpandedNodes || m_bytes > kMaxExpandedBytes) {
        return base::inputError(fmt::format(
            "with its functions written out the model would have more than {} nodes, or more than {} MiB of nodes, "
            "names and constants; export it without functions, or with shared weights as initializers",
            kMaxExpandedNodes, kMaxExpandedBytes >> 20U));
    }
    return {};
}

} // namespace retro::formats
