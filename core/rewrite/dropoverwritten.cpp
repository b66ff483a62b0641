// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

namespace retro::rewrite
{

using graph::Node;

namespace
{

/// An update that puts new elements in the place of old ones and reads no old one there.
bool isUpdate(const Node& node)
{
    return node.domain.empty() && (node.op == "ScatterND" || node.op == "ScatterElements") && node.inputs.size() == 3 &&
           attributeOr<std::string>(node, "reduction", "none") == "none";
}

bool isSameData(const Draft& draft, ValueId a, ValueId b)
{
    return a == b ||
           (draft.isConstant(a) && draft.isConstant(b) && draft.value(a).constant.bitEqual(draft.value(b).constant));
}

/// The update that `later` writes over wholly; invalid when there is none.
NodeId overwritten(const Draft& draft, const Node& later)
{
    const ValueId data = later.inputs[0];
    const NodeId id = data.isValid() ? draft.value(data).producer : NodeId();
    if (!id.isValid() || draft.isRemoved(id) || draft.readerCount(data) != 1 || draft.isOutput(data)) {
        return {};
    }
    const Node& earlier = draft.node(id);
    const bool isSamePlace = isUpdate(earlier) && earlier.op == later.op && earlier.outputs[0] == data &&
                             intAttribute(earlier, "axis", 0) == intAttribute(later, "axis", 0) &&
                             isSameData(draft, earlier.inputs[1], later.inputs[1]);
    return isSamePlace ? id : NodeId();
}

} // namespace

void dropOverwritten(Draft& draft, std::vector<RewriteStep>& steps)
{
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        if (draft.isRemoved(NodeId(i)) || !isUpdate(draft.node(NodeId(i)))) {
            continue;
        }
        Node later = draft.node(NodeId(i));
        const NodeId id = overwritten(draft, later);
        if (!id.isValid()) {
            continue;
        }
        const Node earlier = draft.node(id);
        later.inputs[0] = earlier.inputs[0];
        RewriteStep step;
        step.rewrite = "drop overwritten";
        step.text = fmt::format("{} writes over all that {} wrote", later.name, earlier.name);
        step.removed = {earlier.name, later.name};
        step.added = {later.name};
        draft.replaceNode(NodeId(i), std::move(later));
        draft.removeNode(id);
        steps.push_back(std::move(step));
    }
    overwriteOperands(draft, steps);
}

} // namespace retro::rewrite
