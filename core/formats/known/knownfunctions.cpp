// SPDX-License-Identifier: Apache-2.0
#include "core/formats/known/knownfunctions.h"

#include "core/formats/onnxattributes.h"
#include "core/formats/onnxnames.h"

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
    for (const auto family : {fusedLayerFunctions, fusedTransformerFunctions, attentionFunctions, expertFunctions,
                              machineLearningFunctions, classifierFunctions}) {
        const auto functions = family();
        all.insert(all.end(), functions.begin(), functions.end());
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

/// Operands and outputs are as many as the operator has.
Result<void> checkCounts(const KnownFunction& function, const FunctionWriter& call, const NodeProto& node)
{
    for (std::size_t slot = 0; slot < function.least; ++slot) {
        if (!call.isGiven(slot)) {
            return inputError(fmt::format("{} needs operand {}, which is missing", function.op, slot));
        }
    }
    if (call.operandCount() > function.most) {
        return inputError(
            fmt::format("{} has {} operands; it takes at most {}", function.op, call.operandCount(), function.most));
    }
    if (node.output_size() < 1 || static_cast<std::size_t>(node.output_size()) > function.outputs) {
        return inputError(fmt::format("{} has {} outputs; it makes between 1 and {}", function.op, node.output_size(),
                                      function.outputs));
    }
    return {};
}

/// The attributes are known and of their kind.
Result<void> checkAttributes(const KnownFunction& function, const graph::Attributes& attributes)
{
    for (const auto& [name, value] : attributes) {
        const auto at = std::find_if(function.attributes.begin(), function.attributes.end(),
                                     [&wanted = name](const ops::AttributeSpec& spec) { return spec.name == wanted; });
        if (at == function.attributes.end()) {
            return inputError(fmt::format("{} has no attribute '{}'; export the model again", function.op, name));
        }
        if (value.index() != static_cast<std::size_t>(at->kind)) {
            return inputError(
                fmt::format("attribute '{}' of {} has another type than the operator wants", name, function.op));
        }
        const auto* text = std::get_if<std::string>(&value);
        if (text != nullptr && !isUtf8(*text)) {
            return inputError(
                fmt::format("attribute '{}' of {} is not valid text (UTF-8); the file is damaged", name, function.op));
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
    RETRO_CHECK(checkAttributes(*function, attributes));
    FunctionWriter writer(call, std::move(attributes), facts);
    RETRO_CHECK(checkCounts(*function, writer, call));
    RETRO_TRY(const bool isWritten, function->write(writer));
    if (!isWritten) {
        return std::optional<FunctionProto>();
    }
    RETRO_TRY(FunctionProto written, std::move(writer).finish());
    return std::optional(std::move(written));
}

} // namespace retro::formats
