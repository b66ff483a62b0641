// SPDX-License-Identifier: Apache-2.0
#include "core/formats/known/knownfunctions.h"

#include "core/formats/onnxattributes.h"
#include "core/formats/onnxnames.h"
#include "core/ops/schema/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace retro::formats
{

using base::inputError;
using base::Result;
using onnxschema::FunctionProto;
using onnxschema::NodeProto;

namespace
{

std::vector<KnownFunction> gatherFunctions()
{
    std::vector<KnownFunction> all;
    for (const FunctionFamily* family :
         {&kFusedLayerFunctions, &kFusedTransformerFunctions, &kAttentionFunctions, &kGroupAttentionFunctions,
          &kExpertFunctions, &kQuantisedFunctions, &kMachineLearningFunctions, &kClassifierFunctions}) {
        all.insert(all.end(), family->begin(), family->end());
    }
    std::sort(all.begin(), all.end(), [](const KnownFunction& a, const KnownFunction& b) {
        return std::tie(a.domain, a.op) < std::tie(b.domain, b.op);
    });
    return all;
}

const KnownFunction* findFunction(std::string_view domain, std::string_view op)
{
    const auto& all = knownFunctions();
    const auto key = std::tuple(domain, op);
    const auto at = std::lower_bound(all.begin(), all.end(), key, [](const KnownFunction& f, const auto& wanted) {
        return std::tuple(f.domain, f.op) < wanted;
    });
    return at != all.end() && std::tuple(at->domain, at->op) == key ? &*at : nullptr;
}

/// Operands, outputs and attributes are those of a version of the operator (the file may have any), and texts are
/// texts.
Result<void> checkCall(const NodeProto& call, const graph::Attributes& attributes, std::int64_t opset)
{
    const std::int64_t newest = call.domain().empty() ? opset : 5; // of ai.onnx.ml; com.microsoft has one
    graph::Node node;
    node.op = call.op_type();
    node.domain = call.domain();
    node.attributes = attributes;
    for (const std::string& operand : call.input()) {
        node.inputs.push_back(operand.empty() ? graph::ValueId() : graph::ValueId(std::size_t{0}));
    }
    node.outputs.assign(static_cast<std::size_t>(call.output_size()), graph::ValueId(std::size_t{0}));
    std::optional<std::string> fault;
    for (node.opset = newest; node.opset > 0; --node.opset) {
        std::optional<std::string> other = ops::schemaFault(node);
        if (!other) {
            fault.reset();
            break;
        }
        fault = fault ? fault : other;
    }
    if (fault || node.outputs.empty()) {
        return inputError(fault.value_or("it has no outputs"));
    }
    for (const auto& [name, value] : attributes) {
        const auto* text = std::get_if<std::string>(&value);
        if (text != nullptr && !isUtf8(*text)) {
            return inputError(fmt::format("attribute '{}' of {} is not valid text (UTF-8); the file is damaged", name,
                                          call.op_type()));
        }
    }
    return {};
}

} // namespace

const std::vector<KnownFunction>& knownFunctions()
{
    static const std::vector<KnownFunction> all = gatherFunctions();
    return all;
}

bool isKnownFunction(std::string_view domain, std::string_view op) { return findFunction(domain, op) != nullptr; }

Result<std::optional<FunctionProto>> knownFunction(const NodeProto& call, const GraphFacts& facts)
{
    const KnownFunction* function = findFunction(call.domain(), call.op_type());
    if (function == nullptr) {
        return std::optional<FunctionProto>();
    }
    RETRO_TRY(graph::Attributes attributes, readAttributes(call, {}));
    RETRO_CHECK(checkCall(call, attributes, facts.opset()));
    FunctionWriter writer(call, std::move(attributes), facts);
    RETRO_TRY(const bool isWritten, function->write(writer));
    if (!isWritten) {
        return std::optional<FunctionProto>();
    }
    RETRO_TRY(FunctionProto written, std::move(writer).finish());
    return std::optional(std::move(written));
}

} // namespace retro::formats
