// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "core/base/result.h"
#include "views/common/run/verification.h"
#include "views/plan/plansubject.h"
#include "views/run/runfacts.h"

#include <QObject>
#include <QThread>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

namespace retro::app
{

/// The one thread that runs the engine. post() and stop() are called from the GUI thread and never block; answers come
/// as queued signals that carry the job's generation. A newer job stops the older one.
class EngineWorker final : public QObject
{
    Q_OBJECT

public:
    explicit EngineWorker(QObject* parent = nullptr);
    /// As shutDown().
    ~EngineWorker() override;

    /// Queues a job and returns its generation.
    std::uint64_t post(ExplainJob job);
    /// Writes a run file in the background; saved() or saveFailed() says how it ended.
    void saveRun(std::shared_ptr<const trace::Run> run, const QString& path, std::vector<trace::Note> notes = {},
                 std::shared_ptr<const trace::RunPlan> plan = {}, std::shared_ptr<const trace::RunRegion> region = {},
                 std::shared_ptr<const trace::RunText> text = {});
    /// Looks at a question without running it; checked() tells. Goes behind every job, also one that comes later;
    /// the newest question wins.
    void check(ExplainJob job) { enqueueCheck(job, ++m_newestCheck); }
    /// Runs the oracle on what a run was made with: a job like others. oracleChecked() tells how they agree. Returns
    /// its generation.
    std::uint64_t checkOracle(ExplainJob job, std::shared_ptr<const trace::Run> run);
    /// Verifies what a run was made with (core/engine/verify): a job like others. verified() tells what came out, about
    /// the nodes of the run's graph. Returns its generation.
    std::uint64_t verify(ExplainJob job, std::shared_ptr<const trace::Run> run);
    /// Makes the joint graph that planners work on for what the job asks; planSubjectReady() or planSubjectFailed()
    /// tells, with the number that this returns. The newest one wins; jobs neither stop it nor are stopped by it.
    quint64 preparePlanSubject(ExplainJob job, views::PlanFor half);
    /// Nobody wants the joint graph any more.
    void stopPlanSubject();
    /// Stops whatever runs.
    void stop();
    /// The window goes: stops the running job and drops questions to look at. Files are still written.
    void stopJobs();
    /// stopJobs(), then waits for the thread: an operator that is computing is finished first. Nothing is said after
    /// it.
    void shutDown();
    /// Nothing runs and nothing waits to run. Any thread.
    [[nodiscard]] bool isIdle() const { return m_pending == 0; }
    /// A run is being written to a file at this moment. Any thread.
    [[nodiscard]] bool isWriting() const { return m_isWriting; }

signals:
    /// Stage in words, share done (0…1, negative = unknown). At most 30 times a second.
    void progress(quint64 generation, const QString& stage, double fraction);
    /// The graph is there; the relevance pass may still be running.
    void graphReady(std::shared_ptr<const retro::app::ExplainDone> graph);
    void explained(std::shared_ptr<const retro::app::ExplainDone> result);
    /// The text of a result with another step of what it goes on with.
    void textGrown(quint64 generation, std::shared_ptr<const retro::trace::RunText> text);
    void compared(std::shared_ptr<const retro::app::ComparisonDone> result);
    void failed(quint64 generation, const retro::base::Error& error);
    void stopped(quint64 generation);
    /// The job came to its end by itself, comparisons included.
    void finished(quint64 generation);
    void checked(std::shared_ptr<const retro::views::QuestionCheck> check);
    /// Where the choices of a run are kept now, or why not; one sentence.
    void choicesSaved(const QString& sentence);
    /// How the run on screen agrees with the oracle, in words.
    void oracleChecked(quint64 generation, const QString& sentence, bool holds);
    void verified(quint64 generation, const retro::views::VerificationPointer& verification);
    void planSubjectReady(quint64 number, std::shared_ptr<const retro::views::PlanSubject> subject);
    void planSubjectFailed(quint64 number, const QString& what);
    void saved(const QString& path);
    void saveFailed(const QString& what);
    /// isIdle() has become true.
    void idle();

private:
    /// Runs `task` on the engine thread, after what was queued before. What it throws (no memory) ends the task alone:
    /// `broken` gets the error, on the same thread.
    void enqueue(std::function<void()> task, std::function<void(const base::Error&)> broken);
    /// The `broken` of a job: it failed.
    [[nodiscard]] std::function<void(const base::Error&)> finishing(std::uint64_t generation);
    void execute(ExplainJob job, std::stop_token token);
    void askOracle(ExplainJob& job, const trace::Run& run, const std::stop_token& token);
    base::Result<void> runVerification(ExplainJob& job, const trace::Run& run, const std::stop_token& token);
    /// Says how a job ended.
    void finish(std::uint64_t generation, const base::Result<void>& done);
    /// Makes a job the newest: what runs is stopped.
    [[nodiscard]] std::stop_token begin(ExplainJob& job);
    void enqueueCheck(const ExplainJob& job, std::uint64_t number);
    void answer(ExplainJob& job, const std::stop_token& token);
    base::Result<void> openRun(const ExplainJob& job, const std::stop_token& token);
    /// Reads the model of a job and shows its graph.
    base::Result<void> readModel(ExplainJob& job, const std::stop_token& token);
    base::Result<void> explainModel(ExplainJob& job, std::stop_token token);
    /// Goes on with a text, and tells of each step.
    base::Result<void> goOnWithText(const ExplainJob& job, const engine::LanguageQuestion& language,
                                    const engine::ExplainRequest& request, const engine::ExplainResult& result,
                                    engine::LanguageReport report, std::stop_token token);

    /// Small heatmaps of other composites for the same input.
    base::Result<std::vector<CompositeSample>> sampleComposites(const ExplainJob& job, const std::string& chosen,
                                                                engine::ExplainRequest request,
                                                                const std::stop_token& token);
    base::Result<void> runComparisons(const ExplainJob& job, const engine::ExplainRequest& request,
                                      std::stop_token token, bool isPicture);
    [[nodiscard]] engine::StageProgress progressOf(std::uint64_t generation);
    /// Explains inputs of the model that nobody steps through: the next ones run compiled programs. Engine thread.
    [[nodiscard]] engine::Explainer& explainerOf(const engine::LoadedModelPointer& model);

    QThread m_thread;
    QObject m_home;                                 // lives on m_thread: the queue of jobs
    std::unique_ptr<engine::Explainer> m_explainer; // engine thread: of the model that was asked last
    std::mutex m_mutex;
    std::stop_source m_stop;
    std::stop_source m_checkStop; ///< of the check under way
    std::stop_source m_planStop;  ///< of the joint graph under way
    quint64 m_planNumber = 0;
    std::uint64_t m_generation = 0;
    std::atomic<std::uint64_t> m_newestCheck = 0;
    std::atomic<std::size_t> m_pending = 0; ///< tasks that are queued or run
    std::atomic<bool> m_isWriting = false;
};

} // namespace retro::app
