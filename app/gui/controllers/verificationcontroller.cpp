// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/verificationcontroller.h"

#include "app/gui/facts/verificationfacts.h"
#include "app/gui/jobs/engineworker.h"
#include "core/base/result.h"
#include "core/engine/forwarding/forwardedstorage.h"
#include "core/engine/forwarding/gradientneeds.h"
#include "core/execute/boundmodel.h"
#include "views/common/jobrunner.h"
#include "views/common/paint/background.h"
#include "views/graph/graphview.h"
#include "views/verify/storagefacts.h"
#include "views/verify/verificationview.h"

#include <QAction>
#include <fmt/format.h>

#include <array>
#include <memory>

namespace retro::app
{

namespace
{

using base::Result;

/// Largest graph whose choices are followed at once: rebuilding is quadratic in the values.
constexpr std::size_t kMostStorageValues = 5000;

/// `storage` is taken over by the curve.
views::StorageFacts factsOf(engine::ForwardedStorage storage, const graph::Graph& graph)
{
    views::StorageFacts facts{{}, QStringLiteral("FLOP"), {}};
    for (const std::uint32_t number : analysis::storageCandidates(storage.problem)) {
        const base::ValueId value = storage.values[number];
        facts.tensors.push_back({number, QString::fromStdString(graph.value(value).name), graph.nodeOf(value), value,
                                 storage.problem.sizeOf(number), storage.problem.node(number).cost});
    }
    facts.follow = [problem = std::move(storage.problem)](const std::set<std::uint32_t>& rebuilt) {
        const analysis::Liveness lives = analysis::liveness(problem, rebuilt);
        return views::StorageTrack{lives.resident, problem.nodes.size(), lives.peak, lives.extraCost};
    };
    return facts;
}

/// What a forward pass and a gradient of `target` keep in memory: every value that a reverse rule reads, which is what
/// `grad --forward-value` chooses for, with its size and what computing it costs. Errors (Usage): more than
/// kMostStorageValues values, a target that carries no gradient.
Result<views::StorageFacts> storageFacts(const std::shared_ptr<const execute::BoundModel>& model, base::ValueId target)
{
    const graph::Graph& graph = model->graph();
    if (graph.valueCount() > kMostStorageValues) {
        return base::usageError(fmt::format("the graph has {} values; choices are followed here for up to {}. "
                                            "`retrograde-cli grad --forward` takes larger graphs",
                                            graph.valueCount(), kMostStorageValues));
    }
    if (!target.isValid() || !model->isTracked(target)) {
        return base::usageError("what is explained carries no gradient; choose another target");
    }
    return factsOf(engine::forwardedStorage(engine::GradientNeeds(model, target), 0), graph);
}

using Page = views::VerificationView::Page;

struct PageAction
{
    Page page;
    views::ActionSpec action;
};

constexpr std::array kPages{
    PageAction{Page::Properties,
               {"run.verify.properties", RETRO_ACTION("&Properties"),
                RETRO_ACTION("Show what must hold on this model and input"), "check", ""}},
    PageAction{Page::Invariants,
               {"run.verify.step", RETRO_ACTION("&At this step"),
                RETRO_ACTION("Show what must hold at every step, up to the cursor"), "check", ""}},
    PageAction{Page::Addition,
               {"run.verify.addition", RETRO_ACTION("&Order of addition"),
                RETRO_ACTION("Show the parts of the selected node in the order in which they are added"), "check", ""}},
    PageAction{Page::Recursion,
               {"run.verify.recursion", RETRO_ACTION("&Loop and recursion"),
                RETRO_ACTION("Show the loop beside the recursion that defines it"), "check", ""}},
    PageAction{Page::Nodes,
               {"run.verify.nodes", RETRO_ACTION("&Nodes"),
                RETRO_ACTION("Show every reverse rule against a difference, and float against double"), "node", ""}},
    PageAction{Page::Reach,
               {"run.verify.reach", RETRO_ACTION("&Gradient path"),
                RETRO_ACTION("Show what a gradient has to visit, and why not the rest"), "node", ""}},
    PageAction{Page::Rewrites,
               {"run.verify.rewrites", RETRO_ACTION("&Rewrites"),
                RETRO_ACTION("Show what each rewrite of the graph changed"), "node", ""}},
    PageAction{Page::Memory,
               {"run.verify.storage", RETRO_ACTION("&Store or rebuild"),
                RETRO_ACTION("Choose which tensors a gradient keeps, and see the memory that this takes"), "check",
                ""}},
};

} // namespace

void addVerificationAction(views::ActionRegistry& actions)
{
    actions.add({"run.verify", RETRO_ACTION("Verif&y"),
                 RETRO_ACTION("Check the properties of the tape, gradients against differences and the engines "
                              "against each other, on this model and input"),
                 "check", ""});
    for (const PageAction& page : kPages) {
        actions.add(page.action);
    }
}

VerificationController::VerificationController(views::ActionRegistry& actions, EngineWorker& engine,
                                               views::VerificationView& view, views::GraphView& graph, QObject* parent)
    : QObject(parent), m_engine(engine), m_view(view), m_graph(graph), m_reachJobs(new views::JobRunner(this)),
      m_diffJobs(new views::JobRunner(this)), m_storageJobs(new views::JobRunner(this))
{
    connect(&view, &views::VerificationView::reachRequested, this, &VerificationController::askReach);
    connect(&view, &views::VerificationView::gradientRequested, this, &VerificationController::askGradient);
    connect(&actions.at(QStringLiteral("run.verify")), &QAction::triggered, this, &VerificationController::ask);
    connect(&view, &views::VerificationView::verifyRequested, this, &VerificationController::ask);
    connectPages(actions);
    follow(engine);
    clear();
}

void VerificationController::connectPages(const views::ActionRegistry& actions)
{
    for (const PageAction& one : kPages) {
        connect(&actions.at(QLatin1String(one.action.id)), &QAction::triggered, this, [this, page = one.page] {
            emit viewWanted();
            m_view.showPage(page);
        });
    }
}

void VerificationController::follow(const EngineWorker& engine)
{
    const auto isMine = [this](quint64 generation) { return m_generation != 0 && generation == m_generation; };
    connect(&engine, &EngineWorker::verified, this,
            [this, isMine](quint64 generation, const views::VerificationPointer& verification) {
                if (isMine(generation)) {
                    show(verification);
                }
            });
    connect(&engine, &EngineWorker::progress, this,
            [this, isMine](quint64 generation, const QString& stage, double fraction) {
                if (isMine(generation)) {
                    m_view.setProgress(stage, fraction);
                }
            });
    connect(&engine, &EngineWorker::failed, this, [this, isMine](quint64 generation, const base::Error& error) {
        if (isMine(generation)) {
            m_view.setFailure(QString::fromStdString(error.text()), views::remedyFor(error));
        }
    });
    connect(&engine, &EngineWorker::stopped, this, [this, isMine](quint64 generation) {
        if (isMine(generation)) {
            m_view.setFailure({}, {});
        }
    });
}

void VerificationController::take(const ExplainDone& done)
{
    if (!done.model) {
        forget(tr("A recorded run holds no model to verify. Open its model."));
    } else if (!done.hasRelevance) {
        forget(tr("Nothing was run yet: choose an input, press Run, then verify."));
    } else {
        forget({});
        m_job = done.job;
        m_run = done.run.run;
    }
    takeReach(done);
    takeRewrites(done);
    takeStorage(done);
}

/// What a gradient visits follows from the graph and the target alone: it stays while only the input changes.
void VerificationController::takeReach(const ExplainDone& done)
{
    if (!done.bound) {
        m_bound.reset();
        m_reachJobs->cancel();
        showReach(nullptr, done.model ? tr("Nothing was run yet: choose an input and press Run.")
                                      : tr("A recorded run does not say what its operators are. Open its model."));
        return;
    }
    const base::ValueId target = done.run.run->facts.targetValue;
    const bool isSame = m_bound && m_reach && m_bound->sharedGraph() == done.bound->sharedGraph() && m_target == target;
    m_bound = done.bound;
    m_target = target;
    if (!isSame) {
        showReach(nullptr, tr("Following gradients through the graph …"));
        askReach({}, {});
    }
}

void VerificationController::takeRewrites(const ExplainDone& done)
{
    if (!done.model) {
        m_compared.reset();
        m_diffJobs->cancel();
        m_view.setRewrites(nullptr, tr("A recorded run holds the graph that ran alone. Open its model."));
        return;
    }
    if (m_compared == done.run.run->graph) {
        return;
    }
    m_compared = done.run.run->graph;
    m_view.setRewrites(nullptr, tr("Comparing the graphs …"));
    m_diffJobs->start(
        [this, model = done.model, shown = m_compared](const std::stop_token&) -> views::JobRunner::Delivery {
            auto diff = std::make_shared<const views::RewriteDiff>(rewriteDiff(model->rewritten, *shown));
            return [this, diff] { m_view.setRewrites(diff); };
        });
}

/// The choice that a person made stays while only the input changes.
void VerificationController::takeStorage(const ExplainDone& done)
{
    if (!done.bound) {
        m_stored.reset();
        m_storageJobs->cancel();
        m_view.setStorage(nullptr,
                          tr("What a gradient keeps follows from the model. Open one, choose an input, press Run."));
        return;
    }
    const base::ValueId target = done.run.run->facts.targetValue;
    if (m_stored == done.bound->sharedGraph() && m_storedTarget == target) {
        return;
    }
    m_stored = done.bound->sharedGraph();
    m_storedTarget = target;
    m_view.setStorage(nullptr, tr("Working out what a gradient keeps …"));
    m_storageJobs->start([this, bound = done.bound, target](const std::stop_token&) -> views::JobRunner::Delivery {
        const base::Result<views::StorageFacts> facts = storageFacts(bound, target);
        auto shared = facts.ok() ? std::make_shared<const views::StorageFacts>(*facts) : nullptr;
        const QString refusal = facts.ok() ? QString() : QString::fromStdString(facts.error().text());
        return [this, shared, refusal] { m_view.setStorage(shared, refusal); };
    });
}

/// The marks are what `grad --forward-value` says, packing is what `--forward compress` does.
void VerificationController::askGradient(const std::vector<base::ValueId>& rebuilt, bool isPacked)
{
    if (!m_run || !m_stored) {
        return; // the page has marks for a run of a model alone
    }
    engine::ForwardingOptions wish;
    wish.strategy = isPacked ? engine::ForwardStrategy::Compress : engine::ForwardStrategy::Store;
    for (const base::ValueId value : rebuilt) {
        wish.choices[m_stored->value(value).name] = engine::ForwardForm::Rebuild;
    }
    emit gradientWanted(m_job.gradientBy(std::move(wish)));
}

void VerificationController::askReach(base::ValueId from, base::ValueId to)
{
    const base::ValueId target = to.isValid() ? to : m_target;
    const std::size_t values = m_bound ? m_bound->graph().valueCount() : 0;
    if (target.index() >= values || (from.isValid() && from.index() >= values)) {
        return; // of a graph that is no longer there
    }
    m_reachJobs->start([this, bound = m_bound, from, target](const std::stop_token&) -> views::JobRunner::Delivery {
        auto reach = std::make_shared<const views::GradientReach>(reachFacts(*bound, from, target));
        return [this, reach] { showReach(reach, {}); };
    });
}

void VerificationController::showReach(views::GradientReachPointer reach, const QString& refusal)
{
    m_reach = std::move(reach);
    m_view.setReach(m_reach, refusal);
    m_graph.setChecks({m_verification, m_reach});
}

void VerificationController::clear()
{
    forget(tr("Nothing is open: open a model, press Run, then verify."));
    takeReach({});
    takeRewrites({});
    takeStorage({});
}

void VerificationController::forget(const QString& refusal)
{
    m_generation = 0;
    m_job = {};
    m_run.reset();
    m_verification.reset();
    m_view.setVerification(nullptr);
    m_view.setRefusal(refusal);
    m_graph.setChecks({nullptr, m_reach});
}

void VerificationController::ask()
{
    emit viewWanted();
    if (!m_run) {
        emit said(m_view.summary());
        return;
    }
    m_generation = m_engine.verify(m_job, m_run);
    m_view.setProgress(tr("Verifying"), -1);
    emit asked(m_generation);
}

void VerificationController::show(const views::VerificationPointer& verification)
{
    m_verification = verification;
    m_view.setVerification(verification);
    m_graph.setChecks({m_verification, m_reach});
    const QString sentence = tr("Verified: %1.").arg(m_view.summary());
    if (verification->count(views::Verdict::Violated) > 0) {
        emit violated(sentence);
    }
    emit said(sentence);
}

} // namespace retro::app

#include "moc_verificationcontroller.cpp"
