// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/criticalsubgraph.h"
#include "tests/core/tape/golden.h"

#include <algorithm>
#include <map>

namespace retro::tapetest
{

using namespace retro::analysis;
using nlohmann::json;

namespace
{

class Names
{
public:
    FlowName number(const std::string& text)
    {
        const auto [at, isNew] = m_numbers.try_emplace(text, static_cast<FlowName>(m_texts.size()));
        if (isNew) {
            m_texts.push_back(text);
        }
        return at->second;
    }
    std::vector<FlowName> numbers(const json& texts)
    {
        std::vector<FlowName> list;
        for (const std::string text : texts) {
            list.push_back(number(text));
        }
        return list;
    }
    [[nodiscard]] json texts(const std::vector<FlowName>& numbers) const
    {
        json list = json::array();
        for (const FlowName one : numbers) {
            list.push_back(m_texts[one]);
        }
        return list;
    }
    [[nodiscard]] std::size_t count() const { return m_texts.size(); }

private:
    std::map<std::string, FlowName> m_numbers;
    std::vector<std::string> m_texts;
};

std::vector<FlowOperator> operatorsOf(const json& list, Names& names);

FlowLoop loopOf(const json& op, Names& names)
{
    FlowLoop loop;
    for (const json& carried : op.value("carried", json::array())) {
        loop.carried.push_back(
            {names.number(carried[0]), names.number(carried[1]), names.number(carried[2]), names.number(carried[3])});
    }
    for (const json& scan : op.value("scan", json::array())) {
        loop.scanResults.push_back({names.number(scan[0]), names.number(scan[1])});
    }
    loop.body = operatorsOf(op.at("body"), names);
    return loop;
}

FlowOperator operatorOf(const json& op, Names& names)
{
    FlowOperator made{op.at("id"), names.numbers(op.at("in")), {}, names.numbers(op.at("out"))};
    made.passes.assign(made.inputs.size(), 1);
    for (const std::size_t slot : op.value("nondiff", std::vector<std::size_t>())) {
        made.passes[slot] = 0;
    }
    made.isStop = op.at("op") == "Detach";
    for (const json& region : op.value("regions", json::array())) {
        const json result = region.at("result");
        made.regions.push_back(
            {operatorsOf(region.at("ops"), names), names.numbers(result.is_array() ? result : json::array({result}))});
    }
    if (op.contains("body")) {
        made.loop = loopOf(op, names);
    }
    return made;
}

std::vector<FlowOperator> operatorsOf(const json& list, Names& names)
{
    std::vector<FlowOperator> made;
    for (const json& op : list) {
        made.push_back(operatorOf(op, names));
    }
    return made;
}

json sorted(json list)
{
    std::sort(list.begin(), list.end());
    return list;
}

} // namespace

std::string checkCritical(const json& golden)
{
    Names names;
    Flow flow{operatorsOf(golden.at("ops"), names), {}};
    const std::vector<FlowName> outputs = names.numbers(golden.at("outputs"));
    const std::vector<FlowName> inputs = names.numbers(golden.at("inputs"));
    const std::vector<FlowName> integers = names.numbers(golden.value("integer_tensors", json::array()));
    flow.isIntegral.assign(names.count(), 0);
    for (const FlowName name : integers) {
        flow.isIntegral[name] = 1;
    }
    const CriticalSubgraph found = criticalSubgraph(flow, outputs, inputs);
    const json got{{"backward_cone", found.backwardCone},
                   {"ccs", found.critical},
                   {"skipped", found.skipped},
                   {"reverse_order", std::vector<std::uint32_t>(found.critical.rbegin(), found.critical.rend())},
                   {"gradient_tensors", sorted(names.texts(found.gradientNames))},
                   {"zero_gradient_inputs", names.texts(found.inputsWithoutGradient)}};
    for (const auto& [key, wanted] : golden.at("expect").items()) {
        if (got.at(key) != wanted) {
            return key + " is " + got[key].dump();
        }
    }
    return {};
}

} // namespace retro::tapetest
