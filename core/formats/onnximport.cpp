// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnximport.h"

#include "core/base/cancel.h"
#include "core/formats/onnxattributes.h"
#include "core/formats/onnxnames.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxtensor.h"
#include "core/formats/onnxtypes.h"
#include "core/graph/graphbuilder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace retro::formats
{

using base::inputError;
using base::Result;
using base::within;
using graph::ValueId;
using onnxschema::GraphProto;
using onnxschema::ModelProto;
using onnxschema::NodeProto;
using onnxschema::ValueInfoProto;

namespace
{

constexpr std::int64_t kFirstIrWithOpsets = 3;

/// "ai.onnx" is the long form of the empty domain.
std::string domainOf(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

bool isConstantNode(const NodeProto& node)
{
    return node.op_type() == "Constant" && domainOf(node.domain()).empty() && node.output_size() == 1;
}

class Importer
{
public:
    Importer(ModelProto& model, const std::filesystem::path& folder, const std::stop_token& stop)
        : m_model(model), m_graph(*model.mutable_graph()), m_folder(folder), m_stop(stop),
          m_builder(isUtf8(m_graph.name()) ? m_graph.name() : std::string())
    {}

    Result<graph::Graph> run()
    {
        RETRO_CHECK(refuseUnsupportedParts());
        RETRO_CHECK(readOpsets());
        RETRO_CHECK(checkNodes());
        RETRO_CHECK(addInputs());
        RETRO_CHECK(addInitializers());
        RETRO_CHECK(addConstants());
        addResults();
        RETRO_CHECK(addNodes());
        RETRO_CHECK(declareValues());
        RETRO_CHECK(addOutputs());
        RETRO_CHECK(base::checkStop(m_stop));
        return std::move(m_builder).build();
    }

private:
    Result<void> refuseUnsupportedParts()
    {
        if (m_model.training_info_size() > 0) {
            return inputError("the model carries training graphs, which are not supported; export it for inference",
                              "field 'training_info'");
        }
        if (m_graph.sparse_initializer_size() > 0) {
            return inputError("sparse initializers are not supported; save the model with dense tensors",
                              "initializer '" + m_graph.sparse_initializer(0).values().name() + "'");
        }
        for (const auto& function : m_model.functions()) {
            m_functions.insert({domainOf(function.domain()), function.name()});
        }
        return {};
    }

    Result<void> readOpsets()
    {
        for (const auto& import : m_model.opset_import()) {
            const std::string domain = domainOf(import.domain());
            if (!isUtf8(domain)) {
                return inputError("a domain is not valid text (UTF-8); the file is damaged", "field 'opset_import'");
            }
            m_opsets[domain] = import.version();
        }
        if (m_opsets.empty() && m_model.ir_version() >= kFirstIrWithOpsets) {
            return inputError("the model does not say which operator set it uses; the file may have been cut off: "
                              "fetch or export it again",
                              "field 'opset_import'");
        }
        if (m_opsets.empty()) {
            m_opsets[""] = 1; // the only set that files of the first versions could use
        }
        for (const auto& [domain, version] : m_opsets) {
            m_builder.setOpset(domain, version);
        }
        return {};
    }

    Result<void> checkNodes()
    {
        for (const NodeProto& node : m_graph.node()) {
            RETRO_CHECK(base::checkStop(m_stop));
            RETRO_CHECK(checkNode(node));
        }
        return {};
    }

    Result<void> checkNode(const NodeProto& node) const
    {
        if (!isUtf8(node.name()) || !isUtf8(node.op_type()) || !isUtf8(node.domain())) {
            return inputError("a node's name or operator is not valid text (UTF-8); the file is damaged");
        }
        if (node.op_type().empty()) {
            return inputError("the node does not say which operator it is; the file is damaged", placeOf(node));
        }
        if (m_functions.contains({domainOf(node.domain()), node.op_type()})) {
            return inputError(fmt::format("the operator {} is defined by a function inside the model, which is not "
                                          "supported; save the model with its functions inlined",
                                          node.op_type()),
                              placeOf(node));
        }
        for (const auto* names : {&node.input(), &node.output()}) {
            for (const std::string& name : *names) {
                if (!isUtf8(name)) {
                    return inputError("a value's name is not valid text (UTF-8); the file is damaged", placeOf(node));
                }
            }
        }
        return {};
    }

    Result<void> addInputs()
    {
        std::unordered_set<std::string_view> initialized;
        for (const auto& initializer : m_graph.initializer()) {
            initialized.insert(initializer.name());
        }
        for (const ValueInfoProto& input : m_graph.input()) {
            if (initialized.contains(input.name())) {
                continue;
            }
            Result<DeclaredType> type = readType(input);
            if (!type) {
                return within(std::move(type).error(), placeOfValue("input", input));
            }
            m_builder.addInput(input.name(), type->dtype, std::move(type->shape));
        }
        return {};
    }

    Result<void> addInitializers()
    {
        for (auto& initializer : *m_graph.mutable_initializer()) {
            if (!isUtf8(initializer.name()) || initializer.name().empty()) {
                return inputError("an initializer has no valid name; the file is damaged");
            }
            Result<tensor::Tensor> tensor = fromTensorProto(initializer, m_folder);
            if (!tensor) {
                return within(std::move(tensor).error(), "initializer '" + initializer.name() + "'");
            }
            m_builder.addConstant(initializer.name(), std::move(tensor).value());
            initializer.Clear();
        }
        return {};
    }

    Result<void> addConstants()
    {
        for (const NodeProto& node : m_graph.node()) {
            if (!isConstantNode(node)) {
                continue;
            }
            Result<tensor::Tensor> tensor = readConstantNode(node, m_folder);
            if (!tensor) {
                return within(std::move(tensor).error(), placeOf(node));
            }
            m_builder.addConstant(node.output(0), std::move(tensor).value());
        }
        return {};
    }

    void addResults()
    {
        for (const NodeProto& node : m_graph.node()) {
            for (const std::string& name : node.output()) {
                if (!isConstantNode(node) && !name.empty()) {
                    m_results.emplace(name, m_builder.addResult(name));
                }
            }
        }
    }

    /// The value of that name; one that nobody provides is made here and found by the builder's check.
    ValueId operand(const std::string& name)
    {
        if (name.empty()) {
            return ValueId();
        }
        const std::optional<ValueId> known = m_builder.find(name);
        return known ? *known : m_builder.addResult(name);
    }

    Result<void> addNodes()
    {
        for (const NodeProto& proto : m_graph.node()) {
            RETRO_CHECK(base::checkStop(m_stop));
            if (isConstantNode(proto)) {
                continue;
            }
            Result<graph::Attributes> attributes = readAttributes(proto, m_folder);
            if (!attributes) {
                return within(std::move(attributes).error(), placeOf(proto));
            }
            graph::Node node;
            node.op = proto.op_type();
            node.domain = domainOf(proto.domain());
            node.name = proto.name();
            node.scope = scopeOf(proto);
            node.opset = opsetOf(node.domain);
            node.inputs = operands(proto.input());
            node.outputs = operands(proto.output());
            node.attributes = std::move(attributes).value();
            m_builder.addNode(std::move(node));
        }
        return {};
    }

    /// Version of an imported domain; 0 when the file does not import it.
    std::int64_t opsetOf(const std::string& domain) const
    {
        const auto at = m_opsets.find(domain);
        return at == m_opsets.end() ? 0 : at->second;
    }

    template <class Names>
    std::vector<ValueId> operands(const Names& names)
    {
        std::vector<ValueId> ids;
        for (const std::string& name : names) {
            ids.push_back(operand(name));
        }
        return ids;
    }

    Result<void> declare(const ValueInfoProto& info, const char* kind)
    {
        const auto result = m_results.find(info.name());
        if (result == m_results.end() || !info.has_type()) {
            return {};
        }
        Result<DeclaredType> type = readType(info);
        if (!type) {
            return within(std::move(type).error(), placeOfValue(kind, info));
        }
        m_builder.declare(result->second, type->dtype, std::move(type->shape));
        return {};
    }

    Result<void> declareValues()
    {
        for (const ValueInfoProto& info : m_graph.value_info()) {
            RETRO_CHECK(declare(info, "value"));
        }
        for (const ValueInfoProto& info : m_graph.output()) {
            RETRO_CHECK(declare(info, "output"));
        }
        return {};
    }

    Result<void> addOutputs()
    {
        for (const ValueInfoProto& output : m_graph.output()) {
            const std::optional<ValueId> value = m_builder.find(output.name());
            if (!value || output.name().empty()) {
                return inputError("no node, input or initializer provides this output", placeOfValue("output", output));
            }
            m_builder.addOutput(*value);
        }
        return {};
    }

    /// "output 'y' of node 'seq' (SequenceInsert)": names the node that makes the value, or the first that reads it.
    std::string placeOfValue(const std::string& kind, const ValueInfoProto& info) const
    {
        const std::string place = kind + " '" + (isUtf8(info.name()) ? info.name() : "?") + "'";
        for (const NodeProto& node : m_graph.node()) {
            if (std::find(node.output().begin(), node.output().end(), info.name()) != node.output().end()) {
                return place + " of " + placeOf(node);
            }
        }
        for (const NodeProto& node : m_graph.node()) {
            if (std::find(node.input().begin(), node.input().end(), info.name()) != node.input().end()) {
                return place + " of " + placeOf(node);
            }
        }
        return place;
    }

    ModelProto& m_model;
    GraphProto& m_graph;
    const std::filesystem::path& m_folder;
    const std::stop_token& m_stop;
    graph::GraphBuilder m_builder;
    std::map<std::string, std::int64_t> m_opsets;
    std::set<std::pair<std::string, std::string>> m_functions; // domain, name
    std::unordered_map<std::string, ValueId> m_results;
};

} // namespace

Result<graph::Graph> importModel(ModelProto& model, const std::filesystem::path& folder, const std::stop_token& stop)
{
    return Importer(model, folder, stop).run();
}

} // namespace retro::formats
