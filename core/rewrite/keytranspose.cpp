// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/keytranspose.h"

#include "core/rewrite/attributes.h"

#include <algorithm>
#include <utility>

namespace retro::rewrite
{

using graph::Node;
using Axes = std::vector<std::int64_t>;

namespace
{

Axes orderOf(const Node& transpose) { return attributeOr<Axes>(transpose, "perm", {}); }

/// Constant integers; empty when they are not constant.
Axes integers(const Draft& draft, ValueId value)
{
    Axes numbers;
    for (std::int64_t i = 0; draft.isConstant(value) && i < draft.value(value).constant.size(); ++i) {
        numbers.push_back(static_cast<std::int64_t>(draft.value(value).constant.at(i)));
    }
    return numbers;
}

/// The declared shape; empty when an extent is unknown.
Axes declaredShape(const Draft& draft, ValueId value)
{
    Axes extents;
    if (const auto& shape = draft.value(value).shape) {
        for (const graph::Dimension& dimension : *shape) {
            extents.push_back(dimension.extent.value_or(-1));
        }
    }
    const bool isKnown = std::find(extents.begin(), extents.end(), -1) == extents.end();
    return isKnown ? extents : Axes();
}

/// batch·heads × tokens × width between two Reshapes that exporters write where the number of axes is not known.
std::optional<KeyTranspose> throughThreeAxes(Pattern& pattern, ValueId transposed)
{
    const Node* last = pattern.maker(transposed, "Reshape");
    const Node* middle = last == nullptr ? nullptr : pattern.maker(last->inputs[0], "Transpose");
    const Node* first = middle == nullptr ? nullptr : pattern.maker(middle->inputs[0], "Reshape");
    if (first == nullptr || orderOf(*middle) != Axes{0, 2, 1}) {
        return std::nullopt;
    }
    const Axes keys = declaredShape(pattern.draft(), first->inputs[0]);
    const Axes flat = integers(pattern.draft(), first->inputs[1]);
    const Axes whole = integers(pattern.draft(), last->inputs[1]);
    const bool isSwap = keys.size() == 4 && flat.size() == 3 && flat[1] == keys[2] && flat[2] == keys[3] &&
                        whole == Axes{keys[0], keys[1], keys[3], keys[2]};
    return isSwap ? std::optional(KeyTranspose{first->inputs[0], 4}) : std::nullopt;
}

} // namespace

std::optional<KeyTranspose> keyTranspose(Pattern& pattern, ValueId transposed)
{
    Pattern attempt = pattern;
    const Node* node = attempt.maker(transposed, "Transpose");
    if (node == nullptr) {
        return throughThreeAxes(pattern, transposed);
    }
    pattern = attempt;
    KeyTranspose keys{node->inputs[0], orderOf(*node).size(), orderOf(*node),
                      pattern.draft().value(transposed).producer};
    if (keys.rank != 3 && keys.rank != 4) {
        return std::nullopt;
    }
    std::swap(keys.order[keys.rank - 1], keys.order[keys.rank - 2]);
    if (std::is_sorted(keys.order.begin(), keys.order.end())) {
        keys.order.clear();
    }
    return keys;
}

ValueId splitKeyTranspose(Draft& draft, const KeyTranspose& keys, std::vector<std::string>& added)
{
    Node outer = draft.node(keys.node);
    Node inner = outer;
    inner.name += "/heads";
    inner.inputs = {keys.source};
    inner.attributes["perm"] = keys.order;
    inner.facts.reset();
    const tensor::DType type = draft.value(keys.source).dtype;
    const ValueId byHead = draft.addResult(draft.value(outer.outputs[0]).name + "/heads", type);
    inner.outputs = {byHead};
    added.push_back(inner.name);
    draft.addNode(std::move(inner));
    outer.inputs = {byHead};
    outer.attributes["perm"] = keys.rank == 4 ? Axes{0, 1, 3, 2} : Axes{0, 2, 1};
    draft.replaceNode(keys.node, std::move(outer));
    return byHead;
}

} // namespace retro::rewrite
