// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxfunctions.h"

#include "core/base/cancel.h"
#include "core/formats/known/knownfunctions.h"
#include "core/formats/onnxexpansion.h"
#include "core/formats/onnxgraphnames.h"
#include "core/formats/onnxnames.h"
#include "core/formats/onnxschema.pb.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace retro::formats
{

using base::inputError;
using base::Result;
using onnxschema::AttributeProto;
using onnxschema::FunctionProto;
using onnxschema::GraphProto;
using onnxschema::ModelProto;
using onnxschema::NodeProto;

namespace
{

using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;
using Key = std::tuple<std::string, std::string, std::string>; // domain, name, overload

std::string plainDomain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

using Versions = std::unordered_map<std::string, std::int64_t>; // of operator sets, by domain

/// A call, and what its function's nodes take from it.
struct Call
{
    const NodeProto& node;
    const FunctionProto& function;
    const Versions& versions;
    std::unordered_map<std::string_view, const AttributeProto*> attributes; ///< the call's, else the function's own
};

class Inliner
{
public:
    Inliner(ModelProto& model, const std::stop_token& stop, std::vector<InlinedFunction>* inlined)
        : m_model(model), m_stop(stop), m_inlined(inlined),
          m_counter([this](const NodeProto& node) { return functionOf(node); })
    {}

    Result<void> run()
    {
        for (const FunctionProto& function : m_model.functions()) {
            const bool isNew =
                m_functions
                    .try_emplace({plainDomain(function.domain()), function.name(), function.overload()}, &function)
                    .second;
            if (!isNew) {
                return inputError(
                    fmt::format("the model defines the function '{}' of the domain '{}' twice; a function "
                                "must be the only one of its name, domain and overload",
                                function.name(), function.domain()));
            }
        }
        const bool hasKnown = callsKnownFunction(m_model.graph());
        if (m_functions.empty() && !hasKnown) {
            return {};
        }
        m_facts = hasKnown ? GraphFacts(m_model.graph(), ownOpset()) : GraphFacts();
        noteNames(m_model.graph());
        return expand(*m_model.mutable_graph()->mutable_node(), 0);
    }

private:
    /// Version of ai.onnx that the model imports.
    std::int64_t ownOpset() const
    {
        for (const auto& import : m_model.opset_import()) {
            if (plainDomain(import.domain()).empty()) {
                return import.version();
            }
        }
        return 0;
    }

    static bool callsKnownFunction(const GraphProto& graph)
    {
        return std::any_of(graph.node().begin(), graph.node().end(), [](const NodeProto& node) {
            return isKnownFunction(node.domain(), node.op_type()) ||
                   std::any_of(node.attribute().begin(), node.attribute().end(), [](const AttributeProto& attribute) {
                       return attribute.has_g() && callsKnownFunction(attribute.g());
                   });
        });
    }

    /// Value names of the model, so that new ones differ.
    void noteNames(const GraphProto& graph)
    {
        const auto own = definedNames(graph);
        m_taken.insert(own.begin(), own.end());
        for (const NodeProto& node : graph.node()) {
            for (const AttributeProto& attribute : node.attribute()) {
                if (attribute.has_g()) {
                    noteNames(attribute.g());
                }
            }
        }
    }

    std::string unique(const std::string& wanted)
    {
        if (m_taken.insert(wanted).second) {
            return wanted;
        }
        std::size_t& last = m_counts.try_emplace(wanted, 1).first->second; // where many want one name
        std::string name;
        do {
            name = fmt::format("{}~{}", wanted, ++last);
        } while (!m_taken.insert(name).second);
        return name;
    }

    const FunctionProto* functionOf(const NodeProto& node) const
    {
        const auto at = m_functions.find({plainDomain(node.domain()), node.op_type(), node.overload()});
        return at == m_functions.end() ? nullptr : at->second;
    }

    /// The steps that an operator stands for, where it is one of those that are written out.
    Result<std::optional<FunctionProto>> writtenOut(const NodeProto& call) const
    {
        Result<std::optional<FunctionProto>> known = knownFunction(call, m_facts);
        return known.ok() ? std::move(known)
                          : Result<std::optional<FunctionProto>>(base::within(std::move(known).error(), placeOf(call)));
    }

    Result<void> expandNested(NodeProto& node, int depth)
    {
        for (AttributeProto& attribute : *node.mutable_attribute()) {
            if (attribute.has_g()) {
                RETRO_CHECK(expand(*attribute.mutable_g()->mutable_node(), depth));
            }
        }
        return {};
    }

    Result<void> expand(Nodes& nodes, int depth)
    {
        Nodes expanded;
        for (NodeProto& node : nodes) {
            RETRO_CHECK(base::checkStop(m_stop));
            const FunctionProto* function = functionOf(node);
            std::optional<FunctionProto> known;
            if (function == nullptr) {
                RETRO_TRY(known, writtenOut(node));
                function = known ? &*known : nullptr;
            }
            if (function == nullptr) {
                RETRO_CHECK(expandNested(node, depth));
                expanded.Add(std::move(node));
                continue;
            }
            if (depth == 0) {
                RETRO_CHECK(take(node, *function));
            }
            RETRO_TRY(Nodes body, bodyOf(node, *function, depth));
            m_versions.erase(known ? &*known : nullptr); // the next one may lie at the same place
            note(node, body, depth);
            for (NodeProto& inner : body) {
                expanded.Add(std::move(inner));
            }
        }
        nodes.Swap(&expanded);
        return {};
    }

    /// Counts what a call that no function makes will make, before it does.
    Result<void> take(const NodeProto& call, const FunctionProto& function)
    {
        Result<void> taken = m_budget.take(m_counter.ofCall(call, function));
        return taken ? std::move(taken) : base::within(std::move(taken).error(), placeOf(call));
    }

    /// What became of a call that no function makes.
    void note(const NodeProto& call, const Nodes& body, int depth)
    {
        if (m_inlined == nullptr || depth > 0) {
            return;
        }
        const std::string domain = plainDomain(call.domain());
        const std::string name = fmt::format("{}{}{}{}{}", domain, domain.empty() ? "" : "::", call.op_type(),
                                             call.overload().empty() ? "" : ":", call.overload());
        const auto [place, isNew] = m_places.try_emplace(name, m_inlined->size());
        if (isNew) {
            m_inlined->push_back({name, {}, {}});
        }
        InlinedFunction& inlined = (*m_inlined)[place->second];
        inlined.calls.push_back(labelOf(call));
        for (const NodeProto& node : body) {
            const auto made =
                std::ranges::find_if(node.output(), [](const std::string& output) { return !output.empty(); });
            if (made != node.output().end()) {
                inlined.values.push_back(*made);
            }
        }
    }

    Result<Nodes> bodyOf(const NodeProto& call, const FunctionProto& function, int depth)
    {
        if (depth >= kMaxFunctionDepth) {
            return inputError(fmt::format("functions of the model call each other deeper than {}, or call themselves; "
                                          "export the model again",
                                          kMaxFunctionDepth),
                              placeOf(call));
        }
        if (!isUtf8(call.name())) {
            return inputError("a node's name is not valid text (UTF-8); the file is damaged");
        }
        if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
            return inputError(
                fmt::format("it has {} operands and {} outputs, but its function takes at most {} and has "
                            "{}",
                            call.input_size(), call.output_size(), function.input_size(), function.output_size()),
                placeOf(call));
        }
        const Call called = calledBy(call, function);
        Nodes body;
        const Renaming names = namesFor(called, body);
        for (const NodeProto& node : function.node()) {
            NodeProto& copy = *body.Add();
            copy = node;
            instantiate(copy, called, names);
        }
        RETRO_CHECK(expand(body, depth + 1));
        return body;
    }

    Call calledBy(const NodeProto& call, const FunctionProto& function)
    {
        const auto [versions, isNew] = m_versions.try_emplace(&function);
        if (isNew) {
            for (const auto& import : function.opset_import()) {
                versions->second[plainDomain(import.domain())] = import.version();
            }
        }
        Call called{call, function, versions->second, {}};
        for (const auto* attributes : {&call.attribute(), &function.attribute_proto()}) {
            for (const AttributeProto& attribute : *attributes) {
                called.attributes.emplace(attribute.name(), &attribute); // the first of a name counts
            }
        }
        return called;
    }

    static std::string labelOf(const NodeProto& call) { return call.name().empty() ? call.op_type() : call.name(); }

    /// New names of everything in the function.
    Renaming namesFor(const Call& called, Nodes& body)
    {
        const NodeProto& call = called.node;
        const FunctionProto& function = called.function;
        Renaming names;
        for (int i = 0; i < function.input_size(); ++i) {
            names[function.input(i)] = i < call.input_size() ? call.input(i) : std::string();
        }
        for (int i = 0; i < function.output_size(); ++i) {
            const std::string actual = i < call.output_size() ? call.output(i) : std::string();
            nameResult(function.output(i), actual, call, names);
            handOn(function.output(i), actual, called, names, body);
        }
        for (const NodeProto& node : function.node()) {
            nameInner(node, call, names);
        }
        return names;
    }

    /// A result has the name that the call gives it; one that nobody reads gets a new one.
    void nameResult(const std::string& formal, const std::string& actual, const NodeProto& call, Renaming& names)
    {
        if (!names.contains(formal)) {
            names[formal] = actual.empty() ? unique(labelOf(call) + "/" + formal) : actual;
        }
    }

    /// An operand that is handed on as a result gets an Identity.
    void handOn(const std::string& formal, const std::string& actual, const Call& called, const Renaming& names,
                Nodes& body)
    {
        if (actual.empty() || names.at(formal) == actual) {
            return;
        }
        NodeProto& identity = *body.Add();
        identity.set_op_type("Identity");
        identity.add_input(names.at(formal));
        identity.add_output(actual);
        finish(identity, called);
        if (!identity.has_resolved_opset() && m_facts.opset() == 0) {
            identity.set_resolved_opset(1); // the file imports no ai.onnx
        }
    }

    void nameInner(const NodeProto& node, const NodeProto& call, Renaming& names)
    {
        for (const std::string& output : node.output()) {
            if (!output.empty() && !names.contains(output)) {
                names[output] = unique(labelOf(call) + "/" + output);
            }
        }
    }

    void instantiate(NodeProto& node, const Call& called, const Renaming& names)
    {
        rename(node, names);
        bindAttributes(node, called);
        finish(node, called);
    }

    /// Puts the call's attributes (else the function's own defaults) where the function refers to them.
    void bindAttributes(NodeProto& node, const Call& called)
    {
        google::protobuf::RepeatedPtrField<AttributeProto> bound;
        for (AttributeProto& attribute : *node.mutable_attribute()) {
            if (attribute.ref_attr_name().empty()) {
                bindNested(attribute, called);
                bound.Add(std::move(attribute));
                continue;
            }
            if (const auto given = called.attributes.find(attribute.ref_attr_name());
                given != called.attributes.end()) {
                AttributeProto& copy = *bound.Add();
                copy = *given->second;
                copy.set_name(attribute.name());
            }
        }
        node.mutable_attribute()->Swap(&bound);
    }

    void bindNested(AttributeProto& attribute, const Call& called)
    {
        if (!attribute.has_g()) {
            return;
        }
        for (NodeProto& node : *attribute.mutable_g()->mutable_node()) {
            bindAttributes(node, called);
            setVersion(node, called);
        }
    }

    /// Name, scope and version of a node that comes out of a call.
    void finish(NodeProto& node, const Call& called)
    {
        const NodeProto& call = called.node;
        const std::string own = node.name().empty() ? node.op_type() : node.name();
        const bool saysScope = hasScope(node);
        node.set_name(labelOf(call) + "/" + own);
        if (!saysScope) {
            auto& scope = *node.add_metadata_props();
            scope.set_key(std::string(kScopeKey));
            const std::string outer = scopeOf(call);
            const std::string label = labelOf(call);
            scope.set_value((outer.empty() ? outer : outer + "/") + label.substr(label.rfind('/') + 1));
        }
        setVersion(node, called);
    }

    void setVersion(NodeProto& node, const Call& called)
    {
        const auto version = called.versions.find(plainDomain(node.domain()));
        if (version != called.versions.end()) {
            node.set_resolved_opset(version->second);
        }
    }

    ModelProto& m_model;
    const std::stop_token& m_stop;
    std::map<Key, const FunctionProto*> m_functions;
    std::unordered_set<std::string> m_taken;
    std::unordered_map<std::string, std::size_t> m_counts; // of names that were taken when they were wanted
    std::unordered_map<const FunctionProto*, Versions> m_versions;
    std::vector<InlinedFunction>* m_inlined;
    std::unordered_map<std::string, std::size_t> m_places; // in m_inlined, by name
    ExpansionCounter m_counter;
    ExpansionBudget m_budget;
    GraphFacts m_facts;
};

} // namespace

Result<void> inlineFunctions(ModelProto& model, const std::stop_token& stop, std::vector<InlinedFunction>* inlined)
{
    return Inliner(model, stop, inlined).run();
}

} // namespace retro::formats
