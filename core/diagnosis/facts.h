// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/diagnosis/finding.h"
#include "core/diagnosis/modelfacts.h"
#include "core/diagnosis/pass.h"
#include "core/diagnosis/usualpreparation.h"
#include "core/formats/modelcard.h"
#include "core/rewrite/rewrite.h"
#include "core/trace/ledgersummary.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::diagnosis
{

struct AttentionMap;
struct Compared;
struct ComparedPasses;
struct Population;

/// Another explanation of the same model: what is not given stays.
struct Variation
{
    std::optional<std::string> composite;      ///< a specification
    std::optional<std::vector<Tensor>> inputs; ///< per graph input
    std::optional<std::int64_t> classIndex;    ///< of the target value
};

/// Makes a pass. Errors as an explanation; Cancelled.
using PassMaker = std::function<base::Result<Pass>()>;
using VariedPassMaker = std::function<base::Result<Pass>(const Variation&)>;

/// Where facts come from. Everything may be missing but a model or a pass.
struct Sources
{
    std::string modelName;                   ///< file name, for people
    std::string runName;                     ///< of a run file; may be empty
    std::shared_ptr<ModelFacts> model;       ///< of the graph as the file has it; null of a run without its model
    std::vector<rewrite::RewriteStep> steps; ///< that made the graph of the pass of it
    std::vector<rewrite::FusedNode> fused;   ///< nodes of the pass that stand for several
    std::optional<formats::ModelCard> card;
    std::vector<Tensor> inputs;                   ///< per graph input, as given; empty: none
    std::vector<PixelPreparation> pixels;         ///< of inputs that were pictures
    std::shared_ptr<const Population> population; ///< of the folder that the input is the first of; may be null
    std::string composite;                        ///< as asked for: a specification
    bool makesPasses = true;                      ///< further passes may be made where a finding asks for them
    std::optional<std::int64_t> classAsked;       ///< the class that somebody asked for
    bool hasOwnTarget = false;                    ///< somebody chose the target
    bool startsAtScores = false;  ///< nobody did, and relevance starts before the functions of an output
    PassMaker makePass;           ///< asked once; empty: there is no pass
    VariedPassMaker explainAgain; ///< empty: no further passes can be made
    std::stop_token stop;
};

/// What checks read. Each fact is worked out when it is asked for, once, and shared by all checks; facts of a run file
/// and of an explanation in memory look the same. Used by one thread at a time.
class Facts
{
public:
    explicit Facts(Sources sources);

    [[nodiscard]] const Sources& sources() const { return m_sources; }
    [[nodiscard]] const std::stop_token& stop() const { return m_sources.stop; }
    /// The model as its file has it; null of a run without its model.
    [[nodiscard]] const ModelFacts* model() const { return m_sources.model.get(); }
    [[nodiscard]] const formats::ModelCard* card() const { return m_sources.card ? &*m_sources.card : nullptr; }
    [[nodiscard]] const std::vector<Tensor>& inputs() const { return m_sources.inputs; }

    /// The pass; null when there is none, and failure() says why.
    [[nodiscard]] const Pass* pass() const;
    /// Why the model did not run, or not to its end. A pass may be there all the same, without relevance.
    [[nodiscard]] const std::optional<base::Error>& failure() const;
    /// Says that the pass that there is ended with an error.
    void fail(base::Error error) { m_failure = std::move(error); }

    // Of the pass; only where pass() is there. Values and nodes are those of its graph.

    [[nodiscard]] const graph::Graph& graph() const { return *pass()->graph; }
    /// A forward value: as it was kept, the constant, or computed again from what is there. Invalid where that cannot
    /// be had.
    [[nodiscard]] Tensor value(ValueId value) const;
    /// Numbers of a forward value; all zero where it cannot be had.
    [[nodiscard]] const Statistics& statistics(ValueId value) const;
    /// Relevance of a value; invalid where none arrived or it was not kept.
    [[nodiscard]] Tensor relevance(ValueId value) const;
    /// Σ|R| and ΣR of a value; 0 where none arrived.
    [[nodiscard]] double magnitude(ValueId value) const;
    [[nodiscard]] double sum(ValueId value) const;
    /// What happened at a node, over all rows of the ledger; rows = 0 where its rule was not applied.
    [[nodiscard]] const trace::NodeBalance& balance(NodeId node) const;
    /// Amount of a cause at a node as a share of Σ|R| that arrived there; 0 where nothing did.
    [[nodiscard]] double share(NodeId node, event::Cause cause) const;
    /// S: Σ|R| at the target.
    [[nodiscard]] double start() const;
    /// By NodeId (inputs too): the target is computed from it. Ways that carry only a shape are none.
    [[nodiscard]] const std::vector<bool>& leadsToTarget() const;
    /// The bound operator of a node; null where the model is not bound.
    [[nodiscard]] const ops::BoundOperator* op(NodeId node) const;
    /// True when the operator of a node is of that kind; known of run files too.
    [[nodiscard]] bool isKind(NodeId node, ops::StructureKind kind) const;
    /// Shape of a value in the pass; empty where nobody knows.
    [[nodiscard]] tensor::Shape shape(ValueId value) const;
    /// Name of a rule without its parameters: "z-plus". Empty where the node has none.
    [[nodiscard]] std::string ruleName(NodeId node) const;

    /// Square softmaxes over keys (attentionmaps.h).
    [[nodiscard]] const std::vector<AttentionMap>& attentionMaps() const;

    /// A node of the pass by name, or the one that stands for a node of that name in the model's file.
    [[nodiscard]] NodeId nodeOfPass(const std::string& name) const;
    [[nodiscard]] ValueId valueOfPass(const std::string& name) const;
    /// The place of a node, input or value of the pass, with its full name.
    [[nodiscard]] Place place(NodeId node) const;
    [[nodiscard]] Place place(ValueId value) const;

    // Of a reference.

    /// Facts of a model, run or input that is known to be good; null when none is given.
    [[nodiscard]] const Facts* reference() const { return m_reference.get(); }
    void setReference(std::shared_ptr<const Facts> reference) { m_reference = std::move(reference); }
    /// This model and that of the reference, matched (compared.h); null where one has no graph.
    [[nodiscard]] const Compared* compared() const;
    /// The passes of both, matched; null where one has none.
    [[nodiscard]] const ComparedPasses* comparedPasses() const;

private:
    void findPass() const;
    void findBalances() const;
    [[nodiscard]] Tensor computed(ValueId value) const;
    /// What has to run to have it, in order; none where an input is missing.
    [[nodiscard]] std::optional<std::set<NodeId>> nodesMaking(ValueId wanted) const;
    /// Keeps the results of a node. False where it does not take its operands.
    [[nodiscard]] bool runNode(NodeId id) const;
    [[nodiscard]] Tensor known(ValueId value) const;

    Sources m_sources;
    std::shared_ptr<const Facts> m_reference;
    mutable std::shared_ptr<const std::vector<AttentionMap>> m_attention;
    mutable std::shared_ptr<const Compared> m_compared;
    mutable std::shared_ptr<const ComparedPasses> m_comparedPasses;
    mutable bool m_isAsked = false;
    mutable std::optional<Pass> m_pass;
    mutable std::optional<base::Error> m_failure;
    mutable std::vector<Tensor> m_values; // computed again, by ValueId
    mutable std::vector<std::optional<Statistics>> m_statistics;
    mutable std::vector<std::optional<double>> m_magnitudes;
    mutable std::vector<trace::NodeBalance> m_balances; // by NodeId
    mutable std::vector<bool> m_leads;
};

} // namespace retro::diagnosis
