// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"

#include "core/engine/explain/explain.h"
#include "core/engine/input/inputs.h"
#include "core/engine/model/binding.h"
#include "core/execute/forward.h"
#include "core/lrp/arithmetic/tensorarithmetic.h"
#include "core/lrp/program/programrunner.h"
#include "core/program/compile.h"
#include "core/tensor/storagepool.h"

#include <filesystem>
#include <memory>
#include <span>

namespace retro::app
{

namespace
{

using base::Result;

/// Keeps ledger rows and, when told so, the events that a program is made from.
class LedgerAndPass final : public event::Sink
{
public:
    explicit LedgerAndPass(program::FirstPass* pass = nullptr) : m_pass(pass) {}
    void onEvent(const event::Event& event) override { m_isGood = m_isGood && (!m_pass || m_pass->take(event).ok()); }
    void onLedger(const event::LedgerEntry& entry) override { m_rows.push_back(entry); }
    void onTensor(base::HandleId, const tensor::Tensor&) override {}
    [[nodiscard]] bool isGood() const { return m_isGood; }

private:
    program::FirstPass* m_pass;
    std::vector<event::LedgerEntry> m_rows;
    bool m_isGood = true;
};

/// A bound model with its forward pass, ready for relevance.
struct ProgramBench
{
    engine::LoadedModelPointer model;
    engine::ExplainRequest request;
    std::shared_ptr<const execute::BoundModel> bound;
    std::shared_ptr<const lrp::RuleAssignment> rules;
    std::unique_ptr<execute::ForwardResult> forward;
    std::unique_ptr<execute::ForwardResult> keptForward; ///< with what the program wants kept
    engine::ResolvedTarget target;
    std::shared_ptr<lrp::ProgramRunner> runner;
    tensor::StoragePool pool;

    bool firstPass(program::FirstPass* pass = nullptr) const
    {
        const auto graph = lrp::TraversalGraph::build(*bound, target.value);
        if (!graph) {
            return false;
        }
        LedgerAndPass sink(pass);
        lrp::TensorArithmetic arithmetic(forward->saved, *rules, *graph, sink, true);
        lrp::Traversal traversal(*graph, arithmetic, sink, arithmetic.adopt(target.start));
        while (!traversal.finished()) {
            if (!traversal.step()) {
                return false;
            }
        }
        return sink.isGood();
    }

    bool runProgram()
    {
        const tensor::StoragePool::Use use(pool);
        std::vector<event::LedgerEntry> ledger;
        return runner->run(keptForward->saved, std::span(&target.start, 1), {}, &ledger).ok();
    }
};

Result<std::shared_ptr<ProgramBench>> prepare(const std::filesystem::path& folder)
{
    auto bench = std::make_shared<ProgramBench>();
    RETRO_TRY(bench->model, engine::loadModel(folder / "planted-word.onnx"));
    RETRO_TRY(bench->request.inputs,
              engine::resolveInputs({(folder / "bad-sponsored.npy").string()}, *bench->model->graph(), {}));
    RETRO_TRY(bench->bound, engine::bindModel(*bench->model, bench->request.inputs, execute::Precision::Float));
    RETRO_TRY(const lrp::Composite composite, engine::resolveComposite("auto", *bench->bound));
    RETRO_TRY(lrp::RuleAssignment rules, lrp::assignRules(composite, *bench->bound, bench->model->rewritten.fused));
    bench->rules = std::make_shared<const lrp::RuleAssignment>(std::move(rules));
    RETRO_TRY(execute::ForwardResult forward,
              execute::forward(bench->bound, bench->request.inputs, execute::SavePolicy::Autograd));
    bench->forward = std::make_unique<execute::ForwardResult>(std::move(forward));
    const base::ValueId output = bench->bound->graph().outputs().front();
    RETRO_TRY(bench->target, engine::resolveTarget({}, {}, output, bench->forward->outputs.front()));
    program::FirstPass pass(bench->bound->graph());
    if (!bench->firstPass(&pass)) {
        return base::Error{base::ErrorCode::Bug, "the first pass failed", folder.string()};
    }
    RETRO_TRY(program::Program program,
              program::compile(pass, bench->bound->graph(), std::span(&bench->target.value, 1), base::Hash128{}));
    bench->runner =
        std::make_shared<lrp::ProgramRunner>(std::make_shared<const program::Program>(std::move(program)), bench->bound,
                                             bench->rules, execute::SavePolicy::Autograd, true);
    RETRO_TRY(execute::ForwardResult kept,
              execute::forward(bench->bound, bench->request.inputs, execute::SavePolicy::Autograd, {}, {},
                               bench->runner->alsoKept()));
    bench->keptForward = std::make_unique<execute::ForwardResult>(std::move(kept));
    return bench;
}

} // namespace

Result<std::vector<NamedBody>> programBenchmarks(const std::string& sampleFolder)
{
    RETRO_TRY(const std::shared_ptr<ProgramBench> bench,
              prepare(std::filesystem::path(sampleFolder).parent_path() / "planted-word"));
    const auto explainer = std::make_shared<engine::Explainer>(bench->model);
    return std::vector<NamedBody>{
        {"program/relevance_first", [bench] { return bench->firstPass(); }},
        {"program/relevance_compiled", [bench] { return bench->runProgram(); }},
        {"program/explain_first", [bench] { return engine::explain(*bench->model, bench->request).ok(); }},
        {"program/explain_compiled", [bench, explainer] { return explainer->explain(bench->request).ok(); }}};
}

} // namespace retro::app
