// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/splice.h"
#include "core/graph/insides.h"

#include <algorithm>

namespace retro::rewrite
{

using graph::Node;
using graph::Value;
using graph::ValueKind;

namespace
{

tensor::DType typeIn(const Splice& what, const Value& value)
{
    return tensor::isFloating(value.dtype) && what.floatType ? *what.floatType : value.dtype;
}

std::vector<ValueId> copiesOf(Draft& draft, const Splice& what)
{
    std::vector<ValueId> ids(what.graph.valueCount());
    for (std::size_t i = 0; i < what.inputs.size(); ++i) {
        ids[what.graph.inputs()[i].index()] = what.inputs[i];
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const Value& value = what.graph.value(ValueId(i));
        if (value.kind == ValueKind::Constant) {
            ids[i] = draft.addConstant(what.prefix + value.name, value.constant, typeIn(what, value));
        } else if (value.kind == ValueKind::Result) {
            ids[i] = draft.addResult(what.prefix + value.name, typeIn(what, value));
        }
    }
    return ids;
}

} // namespace

std::vector<ValueId> splice(Draft& draft, const Splice& what, std::vector<std::string>& added)
{
    const std::vector<ValueId> ids = copiesOf(draft, what);
    const auto renumber = [&ids](std::vector<ValueId>& list) {
        std::transform(list.begin(), list.end(), list.begin(),
                       [&ids](ValueId id) { return id.isValid() ? ids[id.index()] : id; });
    };
    for (Node node : what.graph.nodes()) {
        node.name = what.prefix + node.name;
        node.scope = graph::joinedScope(what.scope, node.scope);
        renumber(node.inputs);
        renumber(node.outputs);
        added.push_back(node.name);
        draft.addNode(std::move(node));
    }
    std::vector<ValueId> outputs(what.graph.outputs().begin(), what.graph.outputs().end());
    renumber(outputs);
    return outputs;
}

std::string addIdentity(Draft& draft, ValueId source, ValueId result, const std::string& name)
{
    Node identity;
    identity.op = "Identity";
    identity.name = name;
    identity.opset = 13;
    identity.inputs = {source};
    identity.outputs = {result};
    draft.addNode(std::move(identity));
    return name;
}

} // namespace retro::rewrite
