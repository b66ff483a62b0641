// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "views/common/actions.h"
#include "views/common/run/gradientreach.h"

#include <QObject>

namespace retro::views
{
class GraphView;
class JobRunner;
class VerificationView;
} // namespace retro::views

namespace retro::app
{

class EngineWorker;

/// Adds run.verify, and run.verify.PAGE for every page of the view.
void addVerificationAction(views::ActionRegistry& actions);

/// The properties of the tape, and what a gradient visits, on the model and input on screen: asks the engine for them,
/// shows how far it is, and hands what came out to the view and to the graph for as long as that run is on screen. GUI
/// thread.
class VerificationController final : public QObject
{
    Q_OBJECT

public:
    VerificationController(views::ActionRegistry& actions, EngineWorker& engine, views::VerificationView& view,
                           views::GraphView& graph, QObject* parent);

    /// The run that is on screen now; what was found out about the one before is dropped.
    void take(const ExplainDone& done);
    /// Nothing is on screen.
    void clear();

signals:
    /// The engine verifies, as this job.
    void asked(quint64 generation);
    /// The view is to be seen.
    void viewWanted();
    /// How it came out, or why it cannot be asked, in a sentence.
    void said(const QString& sentence);
    /// The gradient of what is on screen is to be run, its forward values as they are marked.
    void gradientWanted(const retro::app::ExplainJob& job);
    /// Something does not hold.
    void violated(const QString& sentence);

private:
    void ask();
    void connectPages(const views::ActionRegistry& actions);
    void follow(const EngineWorker& engine);
    void forget(const QString& refusal);
    void show(const views::VerificationPointer& verification);
    void takeReach(const ExplainDone& done);
    void takeRewrites(const ExplainDone& done);
    void takeStorage(const ExplainDone& done);
    void askGradient(const std::vector<base::ValueId>& rebuilt, bool isPacked);
    void askReach(base::ValueId from, base::ValueId to);
    void showReach(views::GradientReachPointer reach, const QString& refusal);

    EngineWorker& m_engine;
    views::VerificationView& m_view;
    views::GraphView& m_graph;
    views::JobRunner* m_reachJobs = nullptr;
    views::JobRunner* m_diffJobs = nullptr;
    views::JobRunner* m_storageJobs = nullptr;
    std::shared_ptr<const graph::Graph> m_stored;       ///< whose choices the view has
    base::ValueId m_storedTarget;                       ///< of which
    std::shared_ptr<const graph::Graph> m_compared;     ///< whose rewrites the view has
    std::shared_ptr<const execute::BoundModel> m_bound; ///< that ran; null: nobody knows what a gradient visits
    base::ValueId m_target;
    views::GradientReachPointer m_reach;
    views::VerificationPointer m_verification;
    ExplainJob m_job;
    std::shared_ptr<const trace::Run> m_run; ///< null: nothing that has relevance and a model
    quint64 m_generation = 0;
};

} // namespace retro::app
