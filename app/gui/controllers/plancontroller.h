// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "core/engine/model/loadmodel.h"
#include "views/common/actions.h"
#include "views/common/jobrunner.h"
#include "views/plan/planmodel.h"

#include <QObject>

#include <vector>

namespace retro::app
{

class EngineWorker;
struct PlanAnswer;

/// Answers what the views of a plan ask. The joint graph is made on the engine thread; planners, which know that graph
/// alone, run beside it, one question at a time: while the budget is dragged the newest question follows the one that
/// is being answered, a slow strategy is stopped for it. GUI thread.
class PlanController final : public QObject
{
    Q_OBJECT

public:
    PlanController(EngineWorker& engine, views::PlanModel& plan, QObject* parent);

    /// The model that is open, from now on; null = none, for the reason given.
    void setModel(engine::LoadedModelPointer model, const QString& absence = {});
    /// What is asked of that model: plans are for that pass, with the sizes of its inputs. A question that leads to the
    /// same joint graph changes nothing on screen.
    void setQuestion(const ExplainJob& job);
    /// The plan of a recorded run, whose model is not here.
    void showRecorded(const views::ShownPlanPointer& plan);
    /// A plan file of the model that is open: it stays until something else is asked. One of another pass changes what
    /// is planned for. What is wrong with it comes with failed().
    void openPlan(const QString& path);

signals:
    void failed(const QString& what);

private:
    void prepare();
    void takeSubject(const views::PlanSubjectPointer& subject);
    void forgetPlans();
    void takeFile(const views::PlanSubjectPointer& subject);
    void analyse();
    void plan();
    void start();
    void deliver(const PlanAnswer& answer);
    void curve(bool isWanted);
    void nextPoint();
    void drawBlocks();
    void nextBlockPoint();
    void weighPins();
    void cancelJobs();
    void stop();

    EngineWorker& m_engine;
    views::PlanModel& m_plan;
    engine::LoadedModelPointer m_model;
    ExplainJob m_job; ///< what is asked of it
    views::JobRunner* m_jobs = nullptr;
    views::JobRunner* m_points = nullptr;
    views::JobRunner* m_analysis = nullptr;
    views::JobRunner* m_blocks = nullptr;
    views::JobRunner* m_pins = nullptr;
    std::vector<std::size_t> m_blockSizes;    ///< of the curve of block sizes
    views::PlanSubjectPointer m_blockSubject; ///< of the curve of block sizes that is being drawn
    views::PlanQuestion m_blockQuestion;
    std::vector<views::BlockPoint> m_blockPoints; ///< that are done
    QString m_file;                               ///< a plan to be shown, or on screen; empty = plans are made
    std::vector<std::uint64_t> m_budgets;         ///< of the curve
    std::size_t m_done = 0;
    quint64 m_number = 0;  ///< of the joint graph that is being made
    bool m_isDue = false;  ///< another question came while one was answered
    bool m_isSlow = false; ///< the strategy at work takes its time
};

/// The plan of a question, or why there is none. Runs on any thread.
struct PlanAnswer
{
    views::ShownPlanPointer plan; ///< null: there is none
    QString refusal;
    QString remedy;
    bool isStopped = false;
};
[[nodiscard]] PlanAnswer answerTo(const views::PlanSubjectPointer& subject, const views::PlanQuestion& question,
                                  const std::stop_token& stop = {}, schedule::SearchListener* listener = nullptr);
/// Searches for the plan of a job (ExplainJob::search) once more and writes down how: a run of kind "plan", of the
/// search and of the plan's steps. Errors: Engine (there is no plan), Cancelled.
[[nodiscard]] base::Result<std::shared_ptr<ExplainDone>> searchAsRun(const ExplainJob& job,
                                                                     const std::stop_token& stop);

/// The joint graph of what a job asks, as views draw it: that of the pass which "run by the plan" carries out. Where
/// the job has no inputs, or they cannot be read, the sizes are those that the model declares. Of a graph that no rule
/// carries relevance through it is that of the gradient; its warnings say so. Errors: as engine::passPlanningOf(),
/// engine::jointPlanningOf() and engine::parseTarget().
[[nodiscard]] base::Result<views::PlanSubjectPointer>
planSubjectOf(ExplainJob job, views::PlanFor half = views::PlanFor::Gradient, const std::stop_token& stop = {});

} // namespace retro::app
