// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxtexts.h"

#include "core/formats/onnxgraphnames.h"
#include "core/formats/onnxnames.h"
#include "core/formats/onnxschema.pb.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
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
using onnxschema::ValueInfoProto;

namespace
{

using NameSet = std::unordered_set<std::string>;

/// Operators that hand on the elements of operand 0 (of Where: of operands 1 and 2).
constexpr std::array<std::string_view, 13> kMovers{"Identity",
                                                   "Gather",
                                                   "Reshape",
                                                   "Flatten",
                                                   "Squeeze",
                                                   "Unsqueeze",
                                                   "Slice",
                                                   "Concat",
                                                   "Expand",
                                                   "Transpose",
                                                   "Tile",
                                                   "Where",
                                                   "ArrayFeatureExtractor"};

/// Nodes that stand behind their readers take another round each; what is left then is refused as it is read.
constexpr int kMostRounds = 64;

bool isTextTensor(const AttributeProto& attribute)
{
    return attribute.has_t() && attribute.t().data_type() == TensorProto::STRING;
}

/// A Constant that holds texts, or a Cast to them.
bool startsTexts(const NodeProto& node)
{
    return std::any_of(node.attribute().begin(), node.attribute().end(), [&node](const AttributeProto& attribute) {
        const bool isConstant =
            node.op_type() == "Constant" &&
            (isTextTensor(attribute) || attribute.name() == "value_string" || attribute.name() == "value_strings");
        const bool isCast =
            node.op_type() == "Cast" && attribute.name() == "to" && attribute.i() == TensorProto::STRING;
        return isConstant || isCast;
    });
}

bool readsAny(const NodeProto& node, const NameSet& names)
{
    const auto isOne = [&names](const std::string& name) { return names.contains(name); };
    if (std::any_of(node.input().begin(), node.input().end(), isOne)) {
        return true;
    }
    const std::vector<std::string> captured = capturedNames(node);
    return std::any_of(captured.begin(), captured.end(), isOne);
}

/// Values that hold texts, and the nodes that make them. Nodes may stand in any order.
class Texts
{
public:
    explicit Texts(const GraphProto& graph) : m_graph(graph)
    {
        for (const TensorProto& constant : graph.initializer()) {
            if (constant.data_type() == TensorProto::STRING) {
                m_values.insert(constant.name());
            }
        }
        for (int round = 0; round < kMostRounds && grow(); ++round) {
        }
    }

    [[nodiscard]] const NameSet& values() const { return m_values; }
    [[nodiscard]] bool makesText(const NodeProto& node) const
    {
        return node.output_size() > 0 && m_values.contains(node.output(0));
    }
    /// True when a text is an output or what picks of texts; a constant alone, which nobody reads, is not.
    [[nodiscard]] bool leadOn(const GraphProto& graph) const
    {
        const auto isText = [this](const ValueInfoProto& output) { return m_values.contains(output.name()); };
        return std::any_of(graph.output().begin(), graph.output().end(), isText) ||
               std::any_of(graph.node().begin(), graph.node().end(),
                           [this](const NodeProto& node) { return makesText(node) && readsAny(node, m_values); });
    }
    /// True when something makes numbers of texts, or a graph inside a node reads them.
    [[nodiscard]] bool areRead() const
    {
        return std::any_of(m_graph.node().begin(), m_graph.node().end(),
                           [this](const NodeProto& node) { return !makesText(node) && readsAny(node, m_values); });
    }

private:
    bool grow()
    {
        bool hasGrown = false;
        for (const NodeProto& node : m_graph.node()) {
            if (node.output_size() != 1 || m_values.contains(node.output(0))) {
                continue;
            }
            const bool moves = std::find(kMovers.begin(), kMovers.end(), node.op_type()) != kMovers.end();
            if (startsTexts(node) || (moves && !m_values.empty() && readsAny(node, m_values))) {
                m_values.insert(node.output(0));
                hasGrown = true;
            }
        }
        return hasGrown;
    }

    const GraphProto& m_graph;
    NameSet m_values;
};

template <class List, class Predicate>
void eraseIf(List& list, const Predicate& isGone)
{
    list.erase(std::remove_if(list.begin(), list.end(), isGone), list.end());
}

} // namespace

void forgetMaps(ModelProto& model)
{
    NameSet maps;
    for (const NodeProto& node : model.graph().node()) {
        if (node.op_type() == "ZipMap" && node.domain() == "ai.onnx.ml" && node.output_size() == 1) {
            maps.insert(node.output(0));
        }
    }
    for (auto* list : {model.mutable_graph()->mutable_output(), model.mutable_graph()->mutable_value_info()}) {
        for (ValueInfoProto& value : *list) {
            if (maps.contains(value.name())) {
                value.clear_type();
            }
        }
    }
}

Result<void> leaveTextsOut(ModelProto& model, std::vector<InlinedFunction>* notes)
{
    GraphProto& graph = *model.mutable_graph();
    const Texts texts(graph);
    if (texts.values().empty() || texts.areRead() || !texts.leadOn(graph)) {
        return {};
    }
    const NameSet values = texts.values();
    const auto isText = [&values](const auto& one) { return values.contains(one.name()); };
    for (const ValueInfoProto& output : graph.output()) {
        if (isText(output) && isUtf8(output.name()) && notes != nullptr) {
            notes->push_back({{}, {}, {}, fmt::format("output \"{}\" holds texts and is left out", output.name())});
        }
    }
    if (graph.output_size() > 0 && std::all_of(graph.output().begin(), graph.output().end(), isText)) {
        return inputError("all outputs of the model hold texts, and only numbers are read; export it with a result "
                          "of numbers, such as scores",
                          "output '" + graph.output(0).name() + "'");
    }
    const auto makesText = [&texts](const NodeProto& node) { return texts.makesText(node); };
    eraseIf(*graph.mutable_node(), makesText);
    eraseIf(*graph.mutable_output(), isText);
    eraseIf(*graph.mutable_value_info(), isText);
    eraseIf(*graph.mutable_initializer(), isText);
    eraseIf(*graph.mutable_input(), isText); // older files list constants among the inputs
    return {};
}

} // namespace retro::formats
