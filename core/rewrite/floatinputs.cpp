// SPDX-License-Identifier: Apache-2.0
// Pictures and observations that enter as whole numbers become inputs of floats, which carry relevance.
#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"
#include "core/ops/numbertypes.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Tensor;

namespace
{

using ops::Elements;

/// Names of inputs that say which elements count, or where they are.
constexpr std::array<std::string_view, 6> kNoData{"mask", "position", "length", "size", "shape", "index"};

bool isWholeType(DType type)
{
    return !tensor::isFloating(type) && !tensor::isNarrowFloat(type) && !tensor::isNarrow(type) && type != DType::Bool;
}

/// What happens to the numbers of one input until they are floats.
struct WayToFloats
{
    ValueId input;
    std::set<ValueId> values{}; ///< of whole numbers, the input among them
    std::vector<NodeId> movers{};
    std::vector<NodeId> widened{};       ///< Casts to wider whole numbers
    std::vector<NodeId> ends{};          ///< Casts to floats, and DequantizeLinear
    graph::GivenNumbers numbers{};       ///< that all of these read
    bool isWhole = true;                 ///< false: something else reads them
    std::optional<NodeId> obstacle = {}; ///< a DequantizeLinear that floats cannot take the place of
};

class FloatInputs
{
public:
    FloatInputs(Draft& draft, std::vector<RewriteStep>& steps)
        : m_draft(draft), m_steps(steps), m_readers(draft.before().valueCount())
    {
        for (std::size_t i = 0; i < draft.nodeCount(); ++i) {
            for (std::size_t slot = 0; !draft.isRemoved(NodeId(i)) && slot < draft.node(NodeId(i)).inputs.size();
                 ++slot) {
                const ValueId operand = draft.node(NodeId(i)).inputs[slot];
                if (operand.isValid() && operand.index() < m_readers.size()) {
                    m_readers[operand.index()].push_back({NodeId(i), static_cast<std::uint32_t>(slot)});
                }
            }
        }
    }

    void run()
    {
        if (m_draft.isStopped()) {
            return; // it may hold no more than some of the values
        }
        for (const ValueId input : m_draft.before().inputs()) {
            if (!isWholeType(m_draft.value(input).dtype)) {
                continue;
            }
            WayToFloats way{input};
            follow(input, way);
            if (way.obstacle) {
                note(input, m_draft.node(*way.obstacle));
            } else if (way.isWhole && !way.ends.empty() && areJoinedAlone(way) && isData(input, way)) {
                make(input, way);
            }
        }
    }

private:
    void note(ValueId input, const Node& node)
    {
        m_steps.push_back({"float inputs",
                           fmt::format("input \"{}\" stays, and carries no relevance: {} ({}) has a scale per axis, a "
                                       "computed one, one of no float32, or another than a second reader of the input",
                                       m_draft.value(input).name, node.name, node.op),
                           {},
                           {},
                           true});
    }

    /// Levels, bytes of pictures, or the only numbers that the model reads.
    [[nodiscard]] bool isData(ValueId input, const WayToFloats& way)
    {
        const graph::Value& value = m_draft.value(input);
        if (std::ranges::any_of(way.ends, [this](NodeId end) { return ops::isDequantize(m_draft.node(end)); })) {
            return true;
        }
        std::string name = value.name;
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (std::ranges::any_of(kNoData, [&](std::string_view word) { return name.find(word) != std::string::npos; })) {
            return false;
        }
        const bool isPicture = tensor::sizeOf(value.dtype) <= 2 && value.shape && value.shape->size() >= 3;
        const bool hasFloats = std::ranges::any_of(m_draft.before().inputs(), [&](ValueId other) {
            const graph::Value& one = m_draft.value(other);
            return m_draft.readerCount(other) > 0 && tensor::isFloating(one.dtype) && !one.given;
        });
        return isPicture || (!hasFloats && !readsTokens());
    }

    /// Whether an input of whole numbers picks rows of a table.
    [[nodiscard]] bool readsTokens()
    {
        return std::ranges::any_of(m_draft.before().inputs(), [&](ValueId input) {
            WayToFloats way{input};
            if (isWholeType(m_draft.value(input).dtype)) {
                follow(input, way);
            }
            return m_picks;
        });
    }

    void follow(ValueId value, WayToFloats& way)
    {
        if (!way.values.insert(value).second) {
            return;
        }
        way.isWhole = way.isWhole && !m_draft.isOutput(value) && value.index() < m_readers.size();
        for (std::size_t i = 0; value.index() < m_readers.size() && i < m_readers[value.index()].size(); ++i) {
            follow(m_readers[value.index()][i], way);
        }
    }

    void follow(const graph::Use& use, WayToFloats& way)
    {
        const Node& node = m_draft.node(use.node);
        const bool isMover = node.domain.empty() && (ops::movesElements(node) || (isPad(node) && hasFixedFill(node)));
        if (ops::areElements(node, {Elements::PickedBy}) && use.slot == 1) {
            m_picks = true;
            way.isWhole = false;
        } else if (ops::isCast(node)) {
            followCast(use.node, way);
        } else if (ops::isDequantize(node) && use.slot == 0) {
            followDequantize(use.node, way);
        } else if (isMover && (use.slot == 0 || isJoin(node))) {
            way.movers.push_back(use.node);
            for (const ValueId output : node.outputs) {
                if (output.isValid()) {
                    follow(output, way);
                }
            }
        } else if (!ops::readsShapeAlone(node)) {
            way.isWhole = false;
        }
    }

    /// What is joined is all of the input.
    [[nodiscard]] bool areJoinedAlone(const WayToFloats& way) const
    {
        return std::ranges::all_of(way.movers, [&](NodeId id) {
            const Node& node = m_draft.node(id);
            return !isJoin(node) ||
                   std::ranges::all_of(node.inputs, [&](ValueId operand) { return way.values.contains(operand); });
        });
    }

    void followCast(NodeId id, WayToFloats& way)
    {
        const Node& node = m_draft.node(id);
        const DType from = m_draft.value(way.input).dtype;
        const std::optional<DType> to = targetOf(node);
        const bool keepsSign = !isSigned(from) || (to && isSigned(*to));
        if (to && tensor::isFloating(*to)) {
            takeEnd(id, {}, way);
        } else if (to && keepsSign && tensor::sizeOf(*to) > tensor::sizeOf(from)) {
            way.widened.push_back(id);
            follow(node.outputs[0], way);
        } else {
            way.isWhole = false;
        }
    }

    void followDequantize(NodeId id, WayToFloats& way)
    {
        const Node& node = m_draft.node(id);
        const auto number = [&](std::size_t slot) -> std::optional<double> {
            const ValueId operand = slot < node.inputs.size() ? node.inputs[slot] : ValueId();
            const bool isOne = m_draft.isConstant(operand) && m_draft.value(operand).constant.size() == 1;
            return isOne ? std::optional(m_draft.value(operand).constant.at(0)) : std::nullopt;
        };
        const bool hasZero = node.inputs.size() > 2 && node.inputs[2].isValid();
        const std::optional<double> scale = number(1);
        const std::optional<double> zero = hasZero ? number(2) : 0;
        const bool isFloat = m_draft.value(node.outputs[0]).dtype == DType::Float32 && scale &&
                             m_draft.value(node.inputs[1]).dtype == DType::Float32;
        if (!isFloat || !zero || *scale == 0) {
            way.obstacle = id;
        } else {
            takeEnd(id, {.scale = *scale, .zero = *zero}, way);
        }
    }

    void takeEnd(NodeId id, graph::GivenNumbers numbers, WayToFloats& way)
    {
        numbers.type = m_draft.value(way.input).dtype;
        if (!way.ends.empty() && way.numbers != numbers) {
            way.obstacle = ops::isDequantize(m_draft.node(id)) ? id : way.ends.front();
        }
        way.numbers = numbers;
        way.ends.push_back(id);
    }

    static bool isPad(const Node& node) { return ops::areElements(node, {Elements::Padded}); }
    static bool isJoin(const Node& node) { return ops::areElements(node, {Elements::Joined}); }

    /// What a Pad puts around, if anything, is a constant.
    [[nodiscard]] bool hasFixedFill(const Node& node) const
    {
        return node.inputs.size() <= kFill || !node.inputs[kFill].isValid() || m_draft.isConstant(node.inputs[kFill]);
    }

    [[nodiscard]] static bool isSigned(DType type)
    {
        return type == DType::Int8 || type == DType::Int16 || type == DType::Int32 || type == DType::Int64;
    }

    [[nodiscard]] static std::optional<DType> targetOf(const Node& cast)
    {
        const std::optional<DType> type = ops::dtypeOfOnnx(intAttribute(cast, "to", 0));
        return type && !tensor::isNarrow(*type) && tensor::sizeOf(*type) > 1 ? type : std::nullopt;
    }

    /// What a Cast or DequantizeLinear makes.
    [[nodiscard]] std::optional<DType> madeBy(NodeId id) const
    {
        const Node& node = m_draft.node(id);
        return ops::isDequantize(node) ? DType::Float32 : targetOf(node);
    }

    /// The type that all ends make, else float32.
    [[nodiscard]] DType commonType(const WayToFloats& way) const
    {
        const DType first = *madeBy(way.ends.front());
        const bool areAlike = std::ranges::all_of(way.ends, [&](NodeId end) { return madeBy(end) == first; });
        const bool isWide = first == DType::Float32 || first == DType::Float64;
        return areAlike && isWide ? first : DType::Float32; // narrower ones do not hold all numbers
    }

    void make(ValueId input, const WayToFloats& way)
    {
        const DType given = m_draft.value(input).dtype;
        const DType type = commonType(way);
        for (const ValueId value : way.values) {
            m_draft.retype(value, type);
        }
        m_draft.give(input, way.numbers);
        for (const NodeId id : way.movers) {
            fillWithFloats(id, type, way.numbers);
        }
        RewriteStep step{"float inputs",
                         fmt::format("input \"{}\" of {} → of {}", m_draft.value(input).name, tensor::nameOf(given),
                                     tensor::nameOf(type)),
                         {},
                         {},
                         false};
        std::map<ValueId, ValueId> to;
        for (const std::vector<NodeId>* const gone : {&way.widened, &way.ends}) {
            for (const NodeId id : *gone) {
                takeOut(id, gone == &way.ends ? madeBy(id) : type, type, to, step);
            }
        }
        redirectAll(to);
        m_steps.push_back(std::move(step));
    }

    /// A node that has nothing to do; a Cast to another type of floats stays.
    void takeOut(NodeId id, std::optional<DType> target, DType type, std::map<ValueId, ValueId>& to, RewriteStep& step)
    {
        const Node& node = m_draft.node(id);
        if (m_draft.isOutput(node.outputs[0]) && ops::isDequantize(node)) {
            m_draft.replaceNode(
                id, {"Identity", "", node.name, node.scope, kIdentityOpset, {node.inputs[0]}, node.outputs, {}});
        }
        if (target != type || m_draft.isOutput(node.outputs[0])) {
            return;
        }
        to[node.outputs[0]] = node.inputs[0];
        step.removed.push_back(node.name);
        m_draft.removeNode(id);
    }

    /// Follows redirections to their ends first.
    void redirectAll(const std::map<ValueId, ValueId>& to)
    {
        std::vector<ValueId> ends(to.empty() ? 0 : to.rbegin()->first.index() + 1);
        for (const auto& [from, next] : to) {
            ValueId end = next;
            for (auto at = to.find(end); at != to.end(); at = to.find(end)) {
                end = at->second;
            }
            ends[from.index()] = end;
        }
        m_draft.redirect(ends);
    }

    /// What a Pad puts around floats is a float; around levels it is level 0 unless it says another.
    void fillWithFloats(NodeId id, DType type, const graph::GivenNumbers& numbers)
    {
        Node node = m_draft.node(id);
        const bool isSaid = node.inputs.size() > kFill && node.inputs[kFill].isValid();
        const bool isFilled = attributeOr<std::string>(node, "mode", "constant") == "constant" && numbers.zero != 0;
        if (!isPad(node) || (!isSaid && !isFilled)) {
            return;
        }
        const std::string name = isSaid ? m_draft.value(node.inputs[kFill]).name : node.name + "/fill";
        const Tensor level = isSaid ? m_draft.value(node.inputs[kFill]).constant : Tensor::zeros(DType::Int64, {});
        const Tensor fill = Tensor::full(type, level.shape(), (level.at(0) - numbers.zero) * numbers.scale);
        node.inputs.resize(std::max(node.inputs.size(), kFill + 1));
        node.inputs[kFill] = m_draft.addConstant(name, fill, type);
        m_draft.replaceNode(id, std::move(node));
    }

    static constexpr std::size_t kFill = 2; ///< operand of a Pad
    static constexpr std::int64_t kIdentityOpset = 13;

    Draft& m_draft;
    std::vector<RewriteStep>& m_steps;
    std::vector<std::vector<graph::Use>> m_readers; ///< of values of the graph before
    bool m_picks = false;
};

} // namespace

void floatInputs(Draft& draft, std::vector<RewriteStep>& steps) { FloatInputs(draft, steps).run(); }

} // namespace retro::rewrite
