// SPDX-License-Identifier: Apache-2.0
// Pictures and observations that enter as whole numbers become inputs of floats, which carry relevance.
#include "core/ops/numbertypes.h"
#include "core/rewrite/attributes.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;

namespace
{

/// What moves or repeats elements of operand 0, whatever they are.
constexpr std::array<std::string_view, 15> kMovers{"Concat",   "DepthToSpace", "Expand",    "Flatten", "Gather",
                                                   "Identity", "Pad",          "Reshape",   "Slice",   "SpaceToDepth",
                                                   "Split",    "Squeeze",      "Transpose", "Tile",    "Unsqueeze"};

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
    std::vector<NodeId> widened{}; ///< Casts to wider whole numbers
    std::vector<NodeId> casts{};   ///< Casts to floats
    bool isWhole = true;           ///< false: something else reads them
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
            if (way.isWhole && !way.casts.empty() && areJoinedAlone(way) && isData(input)) {
                make(input, way);
            }
        }
    }

private:
    /// Bytes of pictures, or the only numbers that the model reads.
    [[nodiscard]] bool isData(ValueId input)
    {
        const graph::Value& value = m_draft.value(input);
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
        const bool isOwn = node.domain.empty();
        const bool isMover = isOwn && std::ranges::find(kMovers, node.op) != kMovers.end();
        if (node.op == "Gather" && use.slot == 1) {
            m_picks = true;
            way.isWhole = false;
        } else if (isOwn && node.op == "Cast") {
            followCast(use.node, way);
        } else if (isMover && (use.slot == 0 || node.op == "Concat")) {
            way.movers.push_back(use.node);
            for (const ValueId output : node.outputs) {
                if (output.isValid()) {
                    follow(output, way);
                }
            }
        } else if (!isOwn || (node.op != "Shape" && node.op != "Size")) {
            way.isWhole = false;
        }
    }

    /// What is joined is all of the input.
    [[nodiscard]] bool areJoinedAlone(const WayToFloats& way) const
    {
        return std::ranges::all_of(way.movers, [&](NodeId id) {
            const Node& node = m_draft.node(id);
            return node.op != "Concat" ||
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
            way.casts.push_back(id);
        } else if (to && keepsSign && tensor::sizeOf(*to) > tensor::sizeOf(from)) {
            way.widened.push_back(id);
            follow(node.outputs[0], way);
        } else {
            way.isWhole = false;
        }
    }

    [[nodiscard]] static bool isSigned(DType type)
    {
        return type == DType::Int8 || type == DType::Int16 || type == DType::Int32 || type == DType::Int64;
    }

    [[nodiscard]] static std::optional<DType> targetOf(const Node& cast)
    {
        const std::int64_t to = intAttribute(cast, "to", 0);
        switch (to) {
        case 1:
        case 10:
        case 11:
        case 16:
            return ops::floatingOfOnnx(to);
        case 4:
            return DType::UInt16;
        case 5:
            return DType::Int16;
        case 6:
            return DType::Int32;
        case 7:
            return DType::Int64;
        case 12:
            return DType::UInt32;
        case 13:
            return DType::UInt64;
        default:
            return std::nullopt;
        }
    }

    /// The type that all Casts make, else float32.
    [[nodiscard]] DType commonType(const WayToFloats& way) const
    {
        const DType first = *targetOf(m_draft.node(way.casts.front()));
        const bool areAlike =
            std::ranges::all_of(way.casts, [&](NodeId cast) { return targetOf(m_draft.node(cast)) == first; });
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
        m_draft.give(input, given);
        for (const NodeId id : way.movers) {
            fillWithFloats(id, type);
        }
        RewriteStep step{"float inputs",
                         fmt::format("input \"{}\" of {} → of {}", m_draft.value(input).name, tensor::nameOf(given),
                                     tensor::nameOf(type)),
                         {},
                         {},
                         false};
        std::vector<ValueId> to(m_draft.before().valueCount() + way.casts.size() + way.widened.size());
        for (const std::vector<NodeId>* const casts : {&way.widened, &way.casts}) {
            for (const NodeId id : *casts) {
                takeOut(id, casts == &way.casts ? targetOf(m_draft.node(id)) : type, type, to, step);
            }
        }
        redirectAll(to);
        m_steps.push_back(std::move(step));
    }

    /// A Cast that has nothing to do; one to another type of floats stays.
    void takeOut(NodeId id, std::optional<DType> target, DType type, std::vector<ValueId>& to, RewriteStep& step)
    {
        const Node& node = m_draft.node(id);
        if (target != type || m_draft.isOutput(node.outputs[0])) {
            return;
        }
        to[node.outputs[0].index()] = node.inputs[0];
        step.removed.push_back(node.name);
        m_draft.removeNode(id);
    }

    /// Follows redirections to their ends first.
    void redirectAll(std::vector<ValueId>& to)
    {
        for (ValueId& end : to) {
            while (end.isValid() && to[end.index()].isValid()) {
                end = to[end.index()];
            }
        }
        m_draft.redirect(to);
    }

    /// What a Pad puts around floats is a float.
    void fillWithFloats(NodeId id, DType type)
    {
        constexpr std::size_t kFill = 2;
        Node node = m_draft.node(id);
        if (node.op == "Pad" && node.inputs.size() > kFill && m_draft.isConstant(node.inputs[kFill])) {
            const graph::Value fill = m_draft.value(node.inputs[kFill]);
            node.inputs[kFill] = m_draft.addConstant(fill.name, fill.constant.to(type), type);
            m_draft.replaceNode(id, std::move(node));
        }
    }

    Draft& m_draft;
    std::vector<RewriteStep>& m_steps;
    std::vector<std::vector<graph::Use>> m_readers; ///< of values of the graph before
    bool m_picks = false;
};

} // namespace

void floatInputs(Draft& draft, std::vector<RewriteStep>& steps) { FloatInputs(draft, steps).run(); }

} // namespace retro::rewrite
