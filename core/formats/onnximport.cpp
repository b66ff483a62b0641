// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnximport.h"

#include "core/base/cancel.h"
#include "core/base/leftovers.h"
#include "core/formats/onnxattributes.h"
#include "core/formats/onnxblocked.h"
#include "core/formats/onnxexternal.h"
#include "core/formats/onnxfunctions.h"
#include "core/formats/onnxgraphnames.h"
#include "core/formats/onnxlistloops.h"
#include "core/formats/onnxnames.h"
#include "core/formats/onnxrawdata.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxsequences.h"
#include "core/formats/onnxsparse.h"
#include "core/formats/onnxtensor.h"
#include "core/formats/onnxtexts.h"
#include "core/formats/onnxtypes.h"
#include "core/formats/opsetlimit.h"
#include "core/graph/dimensions.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
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

using Opsets = std::map<std::string, std::int64_t>;

/// What every graph of a model shares.
struct ModelContext
{
    const std::filesystem::path& folder;
    const std::stop_token& stop;
    Opsets opsets;
    FileNotes* notes; // null: whatever cannot be read is an error
    ReadOptions options;
    std::uint64_t& capturedBytes; ///< of the operands that nested graphs got for values around them
    const OnnxRawData* rawData;   ///< elements that the message was decoded without; null: none
};

/// Most of them: each graph inside a node gets all that any graph of the node reads.
constexpr std::uint64_t kMaxCapturedBytes = 128ULL << 20U;
constexpr std::uint64_t kBytesOfOperand = 256; // without its name

/// A constant as its file has it; without data where that is not at hand.
struct ReadConstant
{
    TensorOutline type;
    tensor::Tensor data;
};

/// Constants of more numbers, and floating ones of two axes and more, count as weights.
constexpr std::int64_t kMostPlainNumbers = 64;

bool isWeight(const TensorOutline& type)
{
    const bool isFloating = tensor::isFloating(type.dtype) || tensor::isNarrow(type.dtype);
    return tensor::elementCount(type.shape) > kMostPlainNumbers || (isFloating && type.shape.size() > 1);
}

/// Reads one graph: the model's, or one inside a node, whose last inputs are the values that it captures.
class GraphReader
{
public:
    GraphReader(GraphProto& graph, const ModelContext& context)
        : m_graph(graph), m_context(context), m_folder(context.folder), m_stop(context.stop),
          m_builder(isUtf8(m_graph.name()) ? m_graph.name() : std::string())
    {}

    GraphReader(const GraphReader&) = delete;
    GraphReader& operator=(const GraphReader&) = delete;
    ~GraphReader()
    {
        if (m_stop.stop_requested()) {
            base::Leftovers::leave(std::move(m_builder));
            base::Leftovers::leave(std::move(m_results));
        }
    }

    /// A graph inside a node, which reads these values from around it.
    Result<graph::Graph> readNested(const std::vector<std::string>& captured)
    {
        m_isNested = true;
        return read(captured);
    }

    Result<graph::Graph> read(const std::vector<std::string>& captured = {})
    {
        for (const auto& [domain, version] : m_context.opsets) {
            m_builder.setOpset(domain, version);
        }
        RETRO_CHECK(checkNodes());
        RETRO_CHECK(addInputs());
        for (const std::string& name : captured) {
            m_builder.addInput(name, tensor::DType::Float32, std::nullopt); // the type follows from the graph around
        }
        RETRO_CHECK(addInitializers());
        RETRO_CHECK(addSparseInitializers());
        RETRO_CHECK(addConstants());
        RETRO_CHECK(addResults());
        RETRO_CHECK(addNodes());
        RETRO_CHECK(declareValues());
        RETRO_CHECK(addOutputs());
        return std::move(m_builder).build(m_stop);
    }

private:
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
        for (const auto& initializer : m_graph.sparse_initializer()) {
            initialized.insert(initializer.values().name());
        }
        for (const ValueInfoProto& input : m_graph.input()) {
            if (initialized.contains(input.name())) {
                noteOptional(input.name());
                continue;
            }
            if (m_isNested && input.type().value_case() == onnxschema::TypeProto::VALUE_NOT_SET &&
                isUtf8(input.name()) && !input.name().empty()) { // the type is that of what the node hands in
                m_builder.addInput(input.name(), tensor::DType::Float32, std::nullopt);
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
            RETRO_CHECK(base::checkStop(m_stop));
            if (!isUtf8(initializer.name()) || initializer.name().empty()) {
                return inputError("an initializer has no valid name; the file is damaged");
            }
            Result<ReadConstant> constant = readConstant(initializer, initializer.name(), leftOf(initializer));
            if (!constant) {
                return within(std::move(constant).error(), "initializer '" + initializer.name() + "'");
            }
            addConstant(initializer.name(), std::move(constant).value());
            std::string().swap(*initializer.mutable_raw_data()); // Clear() keeps the room of its bytes
            initializer.Clear();
        }
        return {};
    }

    Result<void> addSparseInitializers()
    {
        for (auto& initializer : *m_graph.mutable_sparse_initializer()) {
            RETRO_CHECK(base::checkStop(m_stop));
            const std::string name = initializer.values().name();
            if (!isUtf8(name) || name.empty()) {
                return inputError("a sparse initializer has no valid name; the file is damaged");
            }
            Result<tensor::Tensor> tensor = fromSparseTensorProto(initializer, m_folder);
            if (!tensor) {
                return within(std::move(tensor).error(), "sparse initializer '" + name + "'");
            }
            m_builder.addConstant(name, std::move(tensor).value());
            initializer.Clear();
        }
        return {};
    }

    void noteOptional(const std::string& name)
    {
        if (m_context.notes != nullptr && !m_isNested) {
            m_context.notes->optionalInputs.push_back(name);
        }
    }

    void addConstant(const std::string& name, ReadConstant constant)
    {
        const bool isThere = constant.data.isValid();
        const ValueId id = m_builder.addConstant(name, std::move(constant.data));
        if (!isThere) {
            m_builder.declare(id, constant.type.dtype, graph::dimensionsOf(constant.type.shape));
        }
    }

    /// Why a constant is read without its data; empty = it is read whole.
    std::string absenceOf(const onnxschema::TensorProto& proto, const TensorOutline& type) const
    {
        if (m_context.options.withoutWeights && isWeight(type)) {
            return "its data was left in the file (--no-weights); open the model with its weights";
        }
        const bool isElsewhere = proto.data_location() == onnxschema::TensorProto::EXTERNAL;
        if (isElsewhere && lacksExternalData(proto, m_folder, type.bytes)) {
            return findExternalData(proto, m_folder, type.bytes).error().message;
        }
        return {};
    }

    /// Where the elements of an initializer were left in the file; null: they were not.
    const OnnxRawData::Place* leftOf(const onnxschema::TensorProto& initializer) const
    {
        const bool isElsewhere = initializer.data_location() == onnxschema::TensorProto::EXTERNAL;
        const bool mayBeLeft = m_context.rawData != nullptr && !m_isNested && !isElsewhere;
        return mayBeLeft ? m_context.rawData->find(initializer.name()) : nullptr;
    }

    Result<tensor::Tensor> dataOf(const onnxschema::TensorProto& proto, const OnnxRawData::Place* left) const
    {
        if (left == nullptr) {
            return fromTensorProto(proto, m_folder);
        }
        return fromRawData(proto, left->bytes,
                           [&](std::span<std::byte> target) { return m_context.rawData->read(*left, target); });
    }

    Result<ReadConstant> readConstant(const onnxschema::TensorProto& proto, const std::string& name,
                                      const OnnxRawData::Place* left = nullptr)
    {
        if (m_context.notes != nullptr && proto.data_type() == onnxschema::TensorProto::STRING) {
            m_context.notes->absent[name] = "its elements are texts, which are not read";
            return ReadConstant{{tensor::DType::UInt8, {proto.dims().begin(), proto.dims().end()}, 0}, {}};
        }
        RETRO_TRY(TensorOutline type, outlineOf(proto));
        const std::string reason = m_context.notes != nullptr ? absenceOf(proto, type) : std::string();
        if (!reason.empty()) {
            m_context.notes->absent[name] = reason;
            return ReadConstant{std::move(type), {}};
        }
        RETRO_TRY(tensor::Tensor data, dataOf(proto, left));
        return ReadConstant{std::move(type), std::move(data)};
    }

    /// The constant of a node that holds one tensor is read as an initializer is.
    Result<ReadConstant> readConstantNodeOf(const NodeProto& node)
    {
        if (node.attribute_size() == 1 && node.attribute(0).name() == "value" && node.attribute(0).has_t()) {
            Result<ReadConstant> constant = readConstant(node.attribute(0).t(), node.output(0));
            return constant.ok() ? std::move(constant) : within(std::move(constant).error(), "attribute 'value'");
        }
        RETRO_TRY(tensor::Tensor data, readConstantNode(node, m_folder));
        return ReadConstant{{}, std::move(data)};
    }

    Result<void> addConstants()
    {
        for (const NodeProto& node : m_graph.node()) {
            RETRO_CHECK(base::checkStop(m_stop));
            if (!isConstantNode(node)) {
                continue;
            }
            Result<ReadConstant> constant = readConstantNodeOf(node);
            if (!constant) {
                return within(std::move(constant).error(), placeOf(node));
            }
            addConstant(node.output(0), std::move(constant).value());
        }
        return {};
    }

    Result<void> addResults()
    {
        for (const NodeProto& node : m_graph.node()) {
            RETRO_CHECK(base::checkStop(m_stop));
            for (const std::string& name : node.output()) {
                if (!isConstantNode(node) && !name.empty()) {
                    m_results.emplace(name, m_builder.addResult(name));
                }
            }
        }
        return {};
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
        for (NodeProto& proto : *m_graph.mutable_node()) {
            RETRO_CHECK(base::checkStop(m_stop));
            if (isConstantNode(proto)) {
                continue;
            }
            Result<graph::Node> node = readNode(proto);
            if (!node) {
                return within(std::move(node).error(), placeOf(proto));
            }
            m_builder.addNode(std::move(node).value());
        }
        return {};
    }

    Result<graph::Node> readNode(NodeProto& proto)
    {
        graph::Node node;
        RETRO_TRY(node.attributes, readAttributes(proto, m_folder));
        node.op = proto.op_type();
        node.domain = domainOf(proto.domain());
        node.name = proto.name();
        node.scope = scopeOf(proto);
        node.metadata = metadataOf(proto);
        node.opset = proto.has_resolved_opset() ? proto.resolved_opset() : opsetOf(node.domain);
        node.inputs = operands(proto.input());
        node.outputs = operands(proto.output());
        RETRO_CHECK(addNestedGraphs(proto, node));
        if (ops::areElements(node, {ops::Elements::Turned})) {
            countFromFront(node);
        }
        return node;
    }

    /// Axes of a permutation that are counted from the end, as PyTorch's older exporter may write them.
    static void countFromFront(graph::Node& node)
    {
        const auto at = node.attributes.find("perm");
        auto* order = at == node.attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&at->second);
        for (std::size_t i = 0; order != nullptr && i < order->size(); ++i) {
            (*order)[i] += (*order)[i] < 0 ? static_cast<std::int64_t>(order->size()) : 0;
        }
    }

    /// Values that a nested graph reads from here become operands of the node, so that the graph shows them.
    Result<void> addNestedGraphs(NodeProto& proto, graph::Node& node)
    {
        const std::vector<std::string> captured = capturedNames(proto);
        std::uint64_t bytes = 0;
        for (const std::string& name : captured) {
            bytes += kBytesOfOperand + name.size();
        }
        for (auto& attribute : *proto.mutable_attribute()) {
            if (!attribute.has_g()) {
                continue;
            }
            m_context.capturedBytes += bytes;
            if (m_context.capturedBytes > kMaxCapturedBytes) {
                return inputError(fmt::format("the graphs inside nodes read too many values of the graphs around them: "
                                              "they take more than {} MiB",
                                              kMaxCapturedBytes >> 20U));
            }
            Result<graph::Graph> nested = GraphReader(*attribute.mutable_g(), m_context).readNested(captured);
            if (!nested) {
                return within(std::move(nested).error(), "attribute '" + attribute.name() + "'");
            }
            auto shared = std::make_shared<const graph::Graph>(std::move(nested).value());
            node.attributes.emplace(attribute.name(), graph::Subgraph{std::move(shared), captured.size()});
        }
        for (const std::string& name : captured) {
            node.inputs.push_back(operand(name));
        }
        return {};
    }

    /// Version of an imported domain; 0 when the file does not import it.
    std::int64_t opsetOf(const std::string& domain) const
    {
        const auto at = m_context.opsets.find(domain);
        return at == m_context.opsets.end() ? 0 : at->second;
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
        const bool saysType = info.has_type() && info.type().value_case() != onnxschema::TypeProto::VALUE_NOT_SET;
        if (result == m_results.end() || !saysType) {
            return {}; // exporters leave the types of results in nested graphs empty
        }
        Result<DeclaredType> type = readType(info);
        if (!type && m_context.notes != nullptr) {
            m_context.notes->otherTypes[info.name()] = type.error().message; // only what reads or makes it is refused
            return {};
        }
        if (!type) {
            return within(std::move(type).error(), placeOfValue(kind, info));
        }
        m_builder.declare(result->second, type->dtype, std::move(type->shape));
        return {};
    }

    Result<void> declareValues()
    {
        for (const ValueInfoProto& info : m_graph.value_info()) {
            RETRO_CHECK(base::checkStop(m_stop));
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

    GraphProto& m_graph;
    const ModelContext& m_context;
    const std::filesystem::path& m_folder;
    const std::stop_token& m_stop;
    graph::GraphBuilder m_builder;
    bool m_isNested = false;
    std::unordered_map<std::string, ValueId> m_results;
};

/// The version of each domain.
Result<Opsets> readOpsets(const ModelProto& model)
{
    Opsets opsets;
    for (const auto& import : model.opset_import()) {
        const std::string domain = domainOf(import.domain());
        if (!isUtf8(domain)) {
            return inputError("a domain is not valid text (UTF-8); the file is damaged", "field 'opset_import'");
        }
        opsets[domain] = import.version();
        if (opsets.size() > kMaxOpsets) {
            return inputError(fmt::format("the model imports the operator sets of more than {} domains; keep those "
                                          "that its nodes use",
                                          kMaxOpsets),
                              "field 'opset_import'");
        }
    }
    if (opsets.empty() && model.ir_version() >= kFirstIrWithOpsets) {
        return inputError("the model does not say which operator set it uses; the file may have been cut off: "
                          "fetch or export it again",
                          "field 'opset_import'");
    }
    if (opsets.empty()) {
        opsets[""] = 1; // the only set that files of the first versions could use
    }
    return opsets;
}

} // namespace

Result<graph::Graph> importModel(ModelProto& model, const std::filesystem::path& folder, const std::stop_token& stop,
                                 FileNotes* notes, const ReadOptions& options, const OnnxRawData* rawData)
{
    if (model.training_info_size() > 0) {
        return inputError("the model carries training graphs, which are not supported; export it for inference",
                          "field 'training_info'");
    }
    RETRO_TRY(Opsets opsets, readOpsets(model));
    std::vector<InlinedFunction>* inlined = notes != nullptr ? &notes->inlined : nullptr;
    RETRO_CHECK(unblockChannels(model, folder, inlined));
    writeOutListLoops(model);
    unpackSequences(model);
    forgetMaps(model);
    RETRO_CHECK(inlineFunctions(model, stop, inlined));
    RETRO_CHECK(leaveTextsOut(model, inlined));
    RETRO_CHECK(checkSparseTensors(model.graph()));
    std::uint64_t capturedBytes = 0;
    const ModelContext context{folder, stop, std::move(opsets), notes, options, capturedBytes, rawData};
    return GraphReader(*model.mutable_graph(), context).read();
}

} // namespace retro::formats
