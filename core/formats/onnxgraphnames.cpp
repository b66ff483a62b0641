// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxgraphnames.h"

#include "core/formats/onnxschema.pb.h"

namespace retro::formats
{

using onnxschema::GraphProto;
using onnxschema::NodeProto;

namespace
{

/// Names in the order of their first use.
struct OrderedNames
{
    std::vector<std::string> names;
    std::unordered_set<std::string> seen;

    void add(const std::string& name)
    {
        if (!name.empty() && seen.insert(name).second) {
            names.push_back(name);
        }
    }
};

void collect(const GraphProto& graph, OrderedNames& found);

void collectNested(const NodeProto& node, OrderedNames& found)
{
    for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) {
            collect(attribute.g(), found);
        }
    }
}

void collect(const GraphProto& graph, OrderedNames& found)
{
    const std::unordered_set<std::string> own = definedNames(graph);
    OrderedNames read;
    for (const NodeProto& node : graph.node()) {
        for (const std::string& name : node.input()) {
            read.add(name);
        }
        collectNested(node, read);
    }
    for (const auto& output : graph.output()) {
        read.add(output.name());
    }
    for (const std::string& name : read.names) {
        if (!own.contains(name)) {
            found.add(name);
        }
    }
}

/// Names that graphs around a place define themselves, from the inside out.
struct Hidden
{
    const std::unordered_set<std::string>& own;
    const Hidden* outer = nullptr;
};

bool isHiddenBy(const Hidden* hidden, const std::string& name)
{
    while (hidden != nullptr && !hidden->own.contains(name)) {
        hidden = hidden->outer;
    }
    return hidden != nullptr;
}

void renameOne(std::string& name, const Renaming& names, const Hidden* hidden)
{
    const auto at = names.find(name);
    if (at != names.end() && !isHiddenBy(hidden, name)) {
        name = at->second;
    }
}

void renameNested(NodeProto& node, const Renaming& names, const Hidden* hidden);

/// A name that the graph defines itself hides the outer one.
void renameCaptured(GraphProto& graph, const Renaming& names, const Hidden* outer)
{
    const std::unordered_set<std::string> own = definedNames(graph);
    const Hidden hidden{own, outer};
    for (NodeProto& node : *graph.mutable_node()) {
        for (std::string& name : *node.mutable_input()) {
            renameOne(name, names, &hidden);
        }
        renameNested(node, names, &hidden);
    }
    for (auto& output : *graph.mutable_output()) {
        renameOne(*output.mutable_name(), names, &hidden);
    }
}

void renameNested(NodeProto& node, const Renaming& names, const Hidden* hidden)
{
    for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) {
            renameCaptured(*attribute.mutable_g(), names, hidden);
        }
    }
}

} // namespace

std::unordered_set<std::string> definedNames(const GraphProto& graph)
{
    std::unordered_set<std::string> names;
    for (const auto& input : graph.input()) {
        names.insert(input.name());
    }
    for (const auto& initializer : graph.initializer()) {
        names.insert(initializer.name());
    }
    for (const NodeProto& node : graph.node()) {
        names.insert(node.output().begin(), node.output().end());
    }
    return names;
}

std::vector<std::string> capturedNames(const GraphProto& graph)
{
    OrderedNames found;
    collect(graph, found);
    return std::move(found.names);
}

std::vector<std::string> capturedNames(const NodeProto& node)
{
    OrderedNames found;
    collectNested(node, found);
    return std::move(found.names);
}

void rename(NodeProto& node, const Renaming& names)
{
    for (std::string& name : *node.mutable_input()) {
        renameOne(name, names, nullptr);
    }
    for (std::string& name : *node.mutable_output()) {
        renameOne(name, names, nullptr);
    }
    renameNested(node, names, nullptr);
}

} // namespace retro::formats
