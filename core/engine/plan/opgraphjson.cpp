// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/opgraphjson.h"

#include "core/base/jsonout.h"
#include "core/base/jsontext.h"

#include <fmt/format.h>

namespace retro::engine
{

using analysis::Op;
using analysis::OperandPart;
using analysis::OpGraph;
using analysis::OpValue;
using analysis::OpValueId;
using base::Result;
using nlohmann::json;

namespace
{

constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
constexpr std::size_t kMostMemory = std::size_t{1} << 30U;

// Members of a value and of an operator, by position in their lists.
constexpr std::size_t kValueMembers = 7;
constexpr std::size_t kOpMembers = 13;

json valueJson(const OpValue& value)
{
    return json::array({value.name, value.bytes, value.isPinned, value.isOutput, value.isRequired,
                        value.isDifferentiable, value.relevanceBytes});
}

json partsJson(const Op& op)
{
    if (!op.parts) {
        return nullptr;
    }
    json parts = json::array();
    for (const OperandPart& part : *op.parts) {
        parts.push_back(json::array({part.operand, part.reads}));
    }
    return parts;
}

unsigned flagsOf(const Op& op)
{
    return (op.isRecomputable ? 1U : 0U) | (op.isStochastic ? 2U : 0U) | (op.isEffectful ? 4U : 0U) |
           (op.hasParameters ? 8U : 0U) | (op.isProduct ? 16U : 0U);
}

json opJson(const Op& op)
{
    return json::array({op.name, op.type, op.inputs, op.outputs, op.savedInputs, op.savedOutputs, partsJson(op),
                        op.parameterReads ? json(*op.parameterReads) : json(), op.cost, op.flops, op.workspace,
                        static_cast<unsigned>(op.phase), flagsOf(op)});
}

/// Reads members; what is of another type throws, which parse() takes for damage.
class Reader
{
public:
    explicit Reader(std::size_t values) : m_values(values) {}

    static OpValue value(const json& item)
    {
        OpValue value;
        value.name = item.at(0).get<std::string>();
        value.bytes = item.at(1).get<std::uint64_t>();
        value.isPinned = item.at(2).get<bool>();
        value.isOutput = item.at(3).get<bool>();
        value.isRequired = item.at(4).get<bool>();
        value.isDifferentiable = item.at(5).get<bool>();
        value.relevanceBytes = item.at(6).get<std::uint64_t>();
        return value;
    }

    [[nodiscard]] Op op(const json& item)
    {
        Op op;
        op.name = item.at(0).get<std::string>();
        op.type = item.at(1).get<std::string>();
        op.inputs = ids(item.at(2));
        op.outputs = ids(item.at(3));
        op.savedInputs = ids(item.at(4));
        op.savedOutputs = ids(item.at(5));
        if (!item.at(6).is_null()) {
            op.parts.emplace();
            for (const json& part : item.at(6)) {
                op.parts->push_back({id(part.at(0)), ids(part.at(1))});
            }
        }
        if (!item.at(7).is_null()) {
            op.parameterReads = ids(item.at(7));
        }
        op.cost = item.at(8).get<double>();
        op.flops = item.at(9).get<double>();
        op.workspace = item.at(10).get<std::uint64_t>();
        const auto phase = item.at(11).get<unsigned>();
        const auto flags = item.at(12).get<unsigned>();
        m_isGood = m_isGood && phase <= static_cast<unsigned>(analysis::Phase::Gradient);
        op.phase = static_cast<analysis::Phase>(phase);
        op.isRecomputable = (flags & 1U) != 0;
        op.isStochastic = (flags & 2U) != 0;
        op.isEffectful = (flags & 4U) != 0;
        op.hasParameters = (flags & 8U) != 0;
        op.isProduct = (flags & 16U) != 0;
        return op;
    }

    [[nodiscard]] bool isGood() const { return m_isGood; }

private:
    OpValueId id(const json& item)
    {
        const auto number = item.get<std::uint64_t>();
        m_isGood = m_isGood && number < m_values;
        return static_cast<OpValueId>(number);
    }

    std::vector<OpValueId> ids(const json& list)
    {
        std::vector<OpValueId> all;
        for (const json& item : list) {
            all.push_back(id(item));
        }
        return all;
    }

    std::size_t m_values;
    bool m_isGood = true;
};

/// Lists of lists of so many members.
bool isList(const json& root, const char* name, std::size_t members)
{
    const auto list = root.find(name);
    const auto isItem = [members](const json& item) { return item.is_array() && item.size() == members; };
    return list != root.end() && list->is_array() && std::all_of(list->begin(), list->end(), isItem);
}

} // namespace

std::string toOpGraphJson(const OpGraph& graph)
{
    json values = json::array();
    for (const OpValue& value : graph.values()) {
        values.push_back(valueJson(value));
    }
    json ops = json::array();
    for (const Op& op : graph.ops()) {
        ops.push_back(opJson(op));
    }
    return base::jsonOut(json{{"values", std::move(values)}, {"ops", std::move(ops)}});
}

Result<OpGraph> parseOpGraphJson(std::string text, const std::string& where)
{
    RETRO_TRY(const base::JsonText parsed, base::JsonText::parse(std::move(text), where, {kMostBytes, 8, kMostMemory}));
    const base::Error damaged = base::inputError("the graph that its plan was made for is damaged", where);
    const json& root = parsed.root();
    if (!root.is_object() || !isList(root, "values", kValueMembers) || !isList(root, "ops", kOpMembers)) {
        return damaged;
    }
    std::vector<OpValue> values;
    std::vector<Op> ops;
    Reader reader(root["values"].size());
    try {
        for (const json& item : root["values"]) {
            values.push_back(Reader::value(item));
        }
        for (const json& item : root["ops"]) {
            ops.push_back(reader.op(item));
        }
    } catch (const json::exception&) {
        return damaged;
    }
    if (!reader.isGood()) {
        return damaged;
    }
    return OpGraph::make(std::move(ops), std::move(values));
}

} // namespace retro::engine
