// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/goldencase.h"

#include "tests/goldenfiles.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

namespace retro::lrptest
{

namespace
{

using nlohmann::json;

void readValues(const json& values, SpecNode& node, std::size_t depth)
{
    if (!values.is_array()) {
        node.values.push_back(values.get<double>());
        return;
    }
    if (node.shape.size() == depth) {
        node.shape.push_back(static_cast<std::int64_t>(values.size()));
    }
    for (const json& entry : values) {
        readValues(entry, node, depth + 1);
    }
}

SpecOperand operandOf(const json& operand, const std::map<std::string, std::size_t>& byId)
{
    if (operand.is_array()) {
        return {byId.at(operand.at(0).get<std::string>()), operand.at(1).get<std::uint32_t>()};
    }
    return {byId.at(operand.get<std::string>()), 0};
}

void readSpec(const json& spec, GoldenCase& golden)
{
    std::map<std::string, std::size_t> byId;
    for (const json& entry : spec) {
        SpecNode node;
        node.id = entry.at(0).get<std::string>();
        node.op = entry.at(1).get<std::string>();
        for (const json& operand : entry.at(2)) {
            node.operands.push_back(operandOf(operand, byId));
        }
        const json& attributes = entry.at(3);
        node.variant = attributes.value("rule", "");
        node.axis = attributes.value("dim", std::int64_t{0});
        node.keepsAxis = attributes.value("keepdim", false);
        if (attributes.contains("v")) {
            readValues(attributes.at("v"), node, 0);
        }
        byId[node.id] = golden.nodes.size();
        golden.nodes.push_back(std::move(node));
    }
}

std::string listOf(const json& names)
{
    std::string text;
    for (const json& name : names) {
        text.append(1, ' ').append(name.get<std::string>());
    }
    return text;
}

std::string placeOf(const json& event) { return event.at("at").is_null() ? "-" : event.at("at").get<std::string>(); }

std::string lineOf(const json& event)
{
    const auto kind = event.at("event").get<std::string>();
    std::string line = fmt::format("{} {} {}", event.at("step").get<int>(), kind, event.at("who").get<std::string>());
    if (kind == "new") {
        line += fmt::format(" {} at {} parents{}", event.at("kind").get<std::string>(), placeOf(event),
                            listOf(event.at("parents")));
    } else if (kind == "end") {
        line = fmt::format("{} end {}", event.at("step").get<int>(), event.at("reason").get<std::string>());
    } else if (kind == "arg" || kind == "tail") {
        line += " at " + placeOf(event);
    } else if (kind == "join" || kind == "rescue") {
        line += " parent " + event.at("parent").get<std::string>();
    } else if (kind == "open") {
        line += " parents" + listOf(event.at("parents"));
    }
    return line;
}

void readEvents(const json& events, GoldenCase& golden)
{
    golden.events.emplace();
    for (const json& event : events) {
        golden.events->push_back(lineOf(event));
        if (event.contains("rout")) {
            golden.beginnings.push_back(event.at("rout").get<std::vector<json>>());
        }
        if (event.at("event") == "complete") {
            golden.completionRins.push_back(event.at("rins").get<std::vector<json>>());
        }
    }
}

GoldenCase readCase(const json& entry)
{
    GoldenCase golden;
    golden.name = entry.at("name").get<std::string>();
    readSpec(entry.at("spec"), golden);
    golden.seed = entry.value("seed", json());
    golden.topo = entry.at("topo");
    golden.trace = entry.at("trace").get<std::vector<std::string>>();
    if (entry.contains("events")) {
        readEvents(entry.at("events"), golden);
    }
    golden.relevance = entry.at("relevance");
    golden.oracle = entry.at("oracle");
    golden.byDocument = entry.value("mode", "") == "document";
    golden.final = entry.value("final", json::array());
    return golden;
}

base::Result<void> readFile(const std::filesystem::path& path, std::vector<GoldenCase>& cases)
{
    std::ifstream file(path);
    const json list = json::parse(file, nullptr, false);
    if (!list.is_array()) {
        return base::inputError("this is no list of cases", path.string());
    }
    try {
        for (const json& entry : list) {
            cases.push_back(readCase(entry));
        }
    } catch (const std::exception& error) {
        return base::inputError(error.what(), path.string());
    }
    return {};
}

} // namespace

std::string goldenFolder(const std::string& family) { return retro::tests::goldenFolder(family).string(); }

base::Result<std::vector<GoldenCase>> readGoldenCases(const std::string& folder)
{
    std::vector<GoldenCase> cases;
    for (const std::filesystem::path& path : retro::tests::goldenFiles(folder)) {
        RETRO_CHECK(readFile(path, cases));
    }
    if (cases.empty()) {
        return base::inputError("no golden cases found; set RETROGRADE_GOLDEN to the folder that holds them", folder);
    }
    return cases;
}

int runGoldenCases(const std::string& family,
                   const std::function<base::Result<std::string>(const GoldenCase&)>& faultOf)
{
    const auto cases = readGoldenCases(goldenFolder(family));
    if (!cases) {
        fmt::print(stderr, "{}\n", cases.error().text());
        return 1;
    }
    std::size_t failed = 0;
    for (const GoldenCase& golden : *cases) {
        const auto fault = faultOf(golden);
        const std::string text = fault.ok() ? *fault : fault.error().text();
        if (!text.empty()) {
            fmt::print("FAIL {}: {}\n", golden.name, text);
            ++failed;
        }
    }
    fmt::print("golden_{}: {} cases, {} failed\n", family, cases->size(), failed);
    return failed == 0 ? 0 : 1;
}

} // namespace retro::lrptest
