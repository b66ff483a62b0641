// SPDX-License-Identifier: Apache-2.0
#include "app/gui/jobs/engineworker.h"

#include "app/gui/controllers/plancontroller.h"
#include "app/gui/embeddedsample.h"
#include "app/gui/facts/fusedfacts.h"
#include "app/gui/facts/inputinfo.h"
#include "app/gui/facts/modelfacts.h"
#include "app/gui/facts/planpass.h"
#include "app/gui/facts/questioncheck.h"
#include "app/gui/facts/recordedplan.h"
#include "app/gui/facts/runproblems.h"
#include "app/gui/facts/verificationfacts.h"
#include "app/gui/jobs/runhandles.h"
#include "core/base/cancel.h"
#include "core/base/failure.h"
#include "core/base/inputfiles.h"
#include "core/base/leftovers.h"
#include "core/base/log.h"
#include "core/engine/compare/compare.h"
#include "core/engine/explain/oraclecheck.h"
#include "core/engine/question/fields.h"
#include "core/engine/question/resolve.h"
#include "core/formats/cardwriter.h"
#include "core/formats/scores.h"
#include "core/graph/insides.h"
#include "core/lrp/composite/ruleoverride.h"
#include "core/ops/algebra.h"
#include "core/trace/runfile.h"
#include "views/common/paint/background.h"

#include <QElapsedTimer>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::app
{

using base::Result;

namespace
{

/// Progress signals are at least this far apart.
constexpr qint64 kProgressMilliseconds = 33;
/// Composites shown as small heatmaps beside the chosen one.
constexpr std::array kSampleComposites{"epsilon", "epsilon_plus", "epsilon_alpha2_beta1", "epsilon_gamma_box"};
/// The same of words and steps.
constexpr std::array kStepComposites{"attnlrp", "cp_lrp", "epsilon", "gradient_x_input"};

/// What the window shows of a text: layers, heads, and links of the attentions where they cost less than the pass.
engine::LayerWish textWish()
{
    constexpr double kMostNumbers = 1U << 28U;
    engine::LayerWish wish;
    wish.links = true;
    wish.mostNumbers = kMostNumbers;
    return wish;
}

/// A run that holds a graph and nothing that happened: what the canvas draws before (or without) a relevance pass, with
/// the branches and bodies of its control flow.
Result<views::RunHandle> graphOnly(const engine::LoadedModel& model, const std::stop_token& stop)
{
    auto run = std::make_shared<trace::Run>();
    Result<std::optional<graph::Graph>> shown = graph::withBodies(*model.graph(), graph::kMostShownNodes, stop);
    run->graph = shown.ok() && *shown ? std::make_shared<const graph::Graph>(std::move(**shown)) : model.graph();
    run->facts.kind = "graph";
    run->facts.modelName = model.name;
    run->values.resize(run->graph->valueCount());
    run->shapes.resize(run->graph->valueCount());
    run->rules.resize(run->graph->nodeCount());
    return makeHandle(std::move(run), stop);
}

/// Position of the first input that carries relevance; the picture, in picture models.
std::size_t pictureInput(const engine::ExplainResult& result)
{
    const auto inputs = result.model->graph().inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (result.relevance[inputs[i].index()].isValid()) {
            return i;
        }
    }
    return 0;
}

/// Elements of sample 0.
std::vector<double> sampleOf(const tensor::Tensor& scores)
{
    const std::int64_t count =
        scores.rank() < 2 ? scores.size() : scores.size() / std::max<std::int64_t>(1, scores.shape()[0]);
    std::vector<double> sample(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        sample[static_cast<std::size_t>(i)] = scores.at(i);
    }
    return sample;
}

/// A stage of the engine for people.
QString wordsOf(const std::string& stage)
{
    struct Words
    {
        const char* stage;
        const char* text;
    };
    constexpr std::array kWords{
        Words{"forward", QT_TRANSLATE_NOOP("retro::app::EngineWorker", "Running the model")},
        Words{"relevance", QT_TRANSLATE_NOOP("retro::app::EngineWorker", "Carrying relevance back")},
        Words{"tape", QT_TRANSLATE_NOOP("retro::app::EngineWorker", "Comparing the tape with its definition")},
        Words{"gradients in double",
              QT_TRANSLATE_NOOP("retro::app::EngineWorker", "Comparing gradients with differences")},
        Words{"engines", QT_TRANSLATE_NOOP("retro::app::EngineWorker", "Comparing the engines")}};
    const auto* found = std::ranges::find_if(kWords, [&](const Words& one) { return stage == one.stage; });
    return EngineWorker::tr(found == kWords.end() ? "Preparing" : found->text);
}

/// How sure a model is of element `chosen` of its first output, as its card and its graph say; none when that is no
/// row of class scores.
std::optional<double> probabilityOf(const engine::LoadedModel& model, const std::vector<double>& scores,
                                    std::int64_t chosen)
{
    const std::string said = model.card ? model.card->scores : std::string();
    const auto kind = formats::scoreKindOf(*model.graph(), model.graph()->outputs().front(), said);
    const std::vector<double> shares = formats::probabilitiesOf(scores, kind);
    return shares.empty() ? std::nullopt : std::optional(shares[static_cast<std::size_t>(chosen)]);
}

std::int64_t largestOf(const std::vector<double>& scores)
{
    return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

/// The same input explained by the control model of the card, when it names one. A value inside the model has no
/// counterpart there: then the control explains its own answer.
Result<std::optional<ControlResult>> explainControl(const ExplainJob& job, engine::ExplainRequest request,
                                                    std::stop_token token)
{
    if (!job.model->card || job.model->card->control.empty()) {
        return std::optional<ControlResult>();
    }
    if (request.target.namesValue()) {
        request.target = {};
        request.start = {};
    }
    RETRO_TRY(const engine::LoadedModelPointer control, loadControl(*job.model));
    RETRO_TRY(const engine::ExplainResult result, engine::explain(*control, request, token));
    const std::vector<double> scores = sampleOf(result.outputs.front());
    const std::int64_t predicted = largestOf(scores);
    return std::optional(ControlResult{QString::fromStdString(control->name),
                                       result.relevance[control->graph()->inputs()[pictureInput(result)].index()],
                                       predicted, probabilityOf(*control, scores, predicted), objectBox(job)});
}

/// The same with the data of its inputs.
Result<engine::ExplainRequest> requestWithInputs(ExplainJob& job)
{
    RETRO_TRY(engine::ExplainRequest request, requestOf(job));
    RETRO_TRY(request.inputs, readInputs(job));
    return request;
}

/// What was left is taken apart on another thread: the next job does not wait for it.
void disposeAside(base::Leftovers& leftovers)
{
    views::backgroundPool().start([things = leftovers.take()] { views::stepBehindTheWindow(); });
}

/// Composite without its numbers: "epsilon_plus:epsilon=0.1" is a kind of "epsilon_plus".
std::string kindOf(const std::string& composite)
{
    const std::string base = lrp::splitSpecification(composite).base;
    return base.substr(0, base.find(':'));
}

/// The class that the model answers; −1 when its first output is no row of scores.
std::int64_t predictedOf(const tensor::Tensor& scores)
{
    const bool isRow = scores.rank() == 1 || (scores.rank() == 2 && scores.shape()[0] == 1);
    return isRow && scores.size() > 1 ? largestOf(sampleOf(scores)) : -1;
}

/// What the run panel and the list of problems say of the model.
void describe(ExplainDone& done)
{
    done.facts = modelFacts(*done.model);
    done.problems = problemsOf(*done.model);
}

/// Writes the choices of a job into the card beside its model. Returns in words where they are.
QString saveChoices(const ExplainJob& job, const engine::LoadedModel& model)
{
    formats::ModelCard card = model.card.value_or(formats::ModelCard());
    const std::vector<std::string>& inputs = job.question.inputs;
    const bool isPicture = inputs.size() == 1 && engine::isPictureFile(inputs.front());
    card.inputKind = isPicture || (model.card && card.inputKind == "image") ? "image" : "array";
    engine::Question kept = engine::completed(job.question, job.card());
    engine::setPreparation(job.options(), kept);
    // What is taken where nobody says it is no choice: kept, it would stand as what somebody knows of the model.
    card.describesInput = (model.card && card.describesInput) || job.options().origin == engine::PictureOrigin::Asked;
    kept.noRewrite = rewrite::switchedOff(model.rewritten.options);
    kept.rewrite = rewrite::switchedOn(model.rewritten.options);
    card.file = std::filesystem::path(model.path).replace_extension("card.json"); // from where files are named
    engine::keepQuestion(kept, card);
    const Result<bool> saved = formats::saveCardChoices(model.path, card);
    return saved ? EngineWorker::tr("Your choices are kept beside the model.")
                 : EngineWorker::tr("Your choices are not kept: %1").arg(QString::fromStdString(saved.error().text()));
}

} // namespace

EngineWorker::EngineWorker(QObject* parent) : QObject(parent)
{
    knowBuiltInFiles();
    qRegisterMetaType<std::shared_ptr<const retro::app::ExplainDone>>();
    qRegisterMetaType<std::shared_ptr<const retro::app::ComparisonDone>>();
    qRegisterMetaType<std::shared_ptr<const retro::views::QuestionCheck>>();
    qRegisterMetaType<std::shared_ptr<const retro::trace::RunText>>();
    qRegisterMetaType<retro::views::VerificationPointer>();
    qRegisterMetaType<std::shared_ptr<const retro::views::PlanSubject>>();
    m_thread.setObjectName(QStringLiteral("engine"));
    m_home.moveToThread(&m_thread);
    m_thread.start();
    QMetaObject::invokeMethod(&m_home, &views::stepBehindTheWindow, Qt::QueuedConnection);
}

EngineWorker::~EngineWorker() { shutDown(); }

void EngineWorker::enqueue(std::function<void()> task, std::function<void(const base::Error&)> broken)
{
    ++m_pending;
    const auto run = [this, task = std::move(task), broken = std::move(broken)] {
        const auto guarded = [](const std::function<void()>& f) {
            return base::caughtAt([] { return std::string(); }, f);
        };
        if (const Result<void> done = guarded(task); !done) {
            m_explainer.reset(); // what it keeps may be half made
            static_cast<void>(guarded([&] { broken(done.error()); }));
        }
        if (--m_pending == 0) {
            emit idle();
        }
    };
    QMetaObject::invokeMethod(&m_home, run, Qt::QueuedConnection);
}

std::function<void(const base::Error&)> EngineWorker::finishing(std::uint64_t generation)
{
    return [this, generation](const base::Error& error) { finish(generation, error); };
}

void EngineWorker::stopJobs()
{
    ++m_newestCheck;
    stop();
    const std::lock_guard lock(m_mutex);
    m_checkStop.request_stop();
    m_planStop.request_stop();
}

void EngineWorker::shutDown()
{
    stopJobs();
    // Queued like the tasks, so that files which were asked for are written first.
    QMetaObject::invokeMethod(
        &m_home, [this] { m_thread.quit(); }, Qt::QueuedConnection);
    m_thread.wait();
}

std::stop_token EngineWorker::begin(ExplainJob& job)
{
    const std::lock_guard lock(m_mutex);
    m_stop.request_stop();
    m_checkStop.request_stop(); // it is done again behind the job
    m_stop = std::stop_source();
    job.generation = ++m_generation;
    return m_stop.get_token();
}

std::uint64_t EngineWorker::post(ExplainJob job)
{
    const std::stop_token token = begin(job);
    const std::uint64_t generation = job.generation;
    enqueue([this, job = std::move(job), token] { execute(job, token); }, finishing(generation));
    return generation;
}

std::uint64_t EngineWorker::checkOracle(ExplainJob job, std::shared_ptr<const trace::Run> run)
{
    const std::stop_token token = begin(job);
    const std::uint64_t generation = job.generation;
    enqueue([this, job = std::move(job), run = std::move(run), token]() mutable { askOracle(job, *run, token); },
            finishing(generation));
    return generation;
}

void EngineWorker::askOracle(ExplainJob& job, const trace::Run& run, const std::stop_token& token)
{
    const auto ask = [&]() -> Result<engine::OracleCheck> {
        RETRO_TRY(const engine::ExplainRequest request, requestWithInputs(job));
        return engine::checkAgainstOracle(*job.model, request, engine::finalRelevance(run), token,
                                          progressOf(job.generation));
    };
    const Result<engine::OracleCheck> check = ask();
    if (check) {
        emit oracleChecked(job.generation, tr("This run %1.").arg(QString::fromStdString(check->text())),
                           check->holds());
    }
    finish(job.generation, check.ok() ? Result<void>() : check.error());
}

std::uint64_t EngineWorker::verify(ExplainJob job, std::shared_ptr<const trace::Run> run)
{
    const std::stop_token token = begin(job);
    const std::uint64_t generation = job.generation;
    enqueue([this, job = std::move(job), run = std::move(run),
             token]() mutable { finish(job.generation, runVerification(job, *run, token)); },
            finishing(generation));
    return generation;
}

Result<void> EngineWorker::runVerification(ExplainJob& job, const trace::Run& run, const std::stop_token& token)
{
    RETRO_CHECK(base::checkStop(token));
    RETRO_TRY(engine::ExplainRequest asked, requestWithInputs(job));
    engine::VerifyRequest request;
    request.inputs = std::move(asked.inputs);
    request.target = asked.target;
    request.composite = asked.composite;
    RETRO_TRY(const engine::VerifyResult result,
              engine::verify(*job.model, request, token, progressOf(job.generation)));
    emit verified(job.generation, std::make_shared<const views::Verification>(verificationFacts(result, *run.graph)));
    return {};
}

void EngineWorker::saveRun(std::shared_ptr<const trace::Run> run, const QString& path, std::vector<trace::Note> notes,
                           std::shared_ptr<const trace::RunPlan> plan, std::shared_ptr<const trace::RunRegion> region,
                           std::shared_ptr<const trace::RunText> text)
{
    enqueue(
        [this,
         recorded =
             trace::RecordedRun{std::move(run), std::move(notes), std::move(plan), std::move(region), std::move(text)},
         path] {
            m_isWriting = true;
            const Result<void> done = trace::writeRecorded(path.toStdString(), recorded);
            m_isWriting = false;
            if (done) {
                emit saved(path);
            } else {
                emit saveFailed(QString::fromStdString(done.error().text()));
            }
        },
        [this](const base::Error& error) {
            m_isWriting = false;
            emit saveFailed(QString::fromStdString(error.text()));
        });
}

void EngineWorker::enqueueCheck(const ExplainJob& job, std::uint64_t number)
{
    std::stop_token token;
    {
        const std::lock_guard lock(m_mutex);
        m_checkStop.request_stop();
        m_checkStop = std::stop_source();
        token = m_checkStop.get_token();
    }
    enqueue(
        [this, job, number, token] {
            if (number != m_newestCheck) { // a newer question makes this one moot
                return;
            }
            base::Leftovers leftovers;
            const auto check = token.stop_requested()
                                   ? nullptr
                                   : std::make_shared<const views::QuestionCheck>(checkQuestion(job, token));
            disposeAside(leftovers);
            if (!token.stop_requested()) {
                emit checked(check);
            } else if (number == m_newestCheck) { // a job went before it
                enqueueCheck(job, number);
            }
        },
        [this](const base::Error& error) {
            auto check = std::make_shared<views::QuestionCheck>();
            check->problem = QString::fromStdString(error.text());
            emit checked(check);
        });
}

quint64 EngineWorker::preparePlanSubject(ExplainJob job, views::PlanFor half)
{
    std::stop_token token;
    quint64 number = 0;
    {
        const std::lock_guard lock(m_mutex);
        m_planStop.request_stop();
        m_planStop = std::stop_source();
        token = m_planStop.get_token();
        number = ++m_planNumber;
    }
    const auto tell = [this, number](const base::Error& error) {
        emit planSubjectFailed(number, QString::fromStdString(error.text()));
    };
    enqueue(
        [this, job = std::move(job), half, number, token, tell] {
            if (token.stop_requested()) {
                return;
            }
            base::Leftovers leftovers;
            const Result<views::PlanSubjectPointer> subject = planSubjectOf(job, half, token);
            disposeAside(leftovers);
            if (subject) {
                emit planSubjectReady(number, *subject);
            } else if (subject.error().code != base::ErrorCode::Cancelled) {
                tell(subject.error());
            }
        },
        tell);
    return number;
}

void EngineWorker::stopPlanSubject()
{
    const std::lock_guard lock(m_mutex);
    m_planStop.request_stop();
}

void EngineWorker::stop()
{
    const std::lock_guard lock(m_mutex);
    m_stop.request_stop();
}

void EngineWorker::execute(ExplainJob job, std::stop_token token)
{
    base::Leftovers leftovers;
    answer(job, token);
    disposeAside(leftovers); // the window has its answer before they go
}

void EngineWorker::answer(ExplainJob& job, const std::stop_token& token)
{
    if (token.stop_requested()) {
        emit stopped(job.generation);
        return;
    }
    if (job.search) {
        emit progress(job.generation, tr("Searching for the plan"), -1);
        const Result<std::shared_ptr<ExplainDone>> done = searchAsRun(job, token);
        if (done) {
            emit explained(*done);
        }
        return finish(job.generation, done.ok() ? Result<void>() : done.error());
    }
    const bool isRun = job.path.endsWith(QStringLiteral(".retro"), Qt::CaseInsensitive);
    finish(job.generation, isRun ? openRun(job, token) : explainModel(job, token));
}

void EngineWorker::finish(std::uint64_t generation, const Result<void>& done)
{
    if (done) {
        emit finished(generation);
    } else if (done.error().code == base::ErrorCode::Cancelled) {
        emit stopped(generation);
    } else {
        base::log(base::logcategory::kWindow, done.error());
        emit failed(generation, done.error());
    }
}

Result<void> EngineWorker::openRun(const ExplainJob& job, const std::stop_token& token)
{
    emit progress(job.generation, tr("Reading the run"), -1);
    RETRO_TRY(trace::RecordedRun recorded, trace::readRecorded(job.path.toStdString()));
    std::shared_ptr<const trace::Run> run = std::move(recorded.run);
    auto done = std::make_shared<ExplainDone>();
    done->notes = std::move(recorded.notes);
    done->runRegion = std::move(recorded.region);
    done->text = std::move(recorded.text);
    done->generation = job.generation;
    done->composite = run->facts.composite;
    done->hasRelevance = !run->events.empty();
    done->input = inputInfo(*run);
    if (recorded.plan) {
        takeRecordedPlan(std::move(recorded.plan), *run, job.path.toStdString(), *done);
    }
    RETRO_TRY(done->run, makeHandle(std::move(run), token));
    emit explained(done);
    return {};
}

Result<void> EngineWorker::readModel(ExplainJob& job, const std::stop_token& token)
{
    emit progress(job.generation, tr("Reading the model"), -1);
    RETRO_TRY(const engine::LoadOptions options, engine::loadOptions(job.question));
    RETRO_TRY(job.model, isEmbeddedPath(job.path) ? loadEmbedded(job.path)
                                                  : engine::loadModel(job.path.toStdString(), options, token));
    const engine::Question opened = job.card() != nullptr ? engine::openedWith(*job.card()) : engine::Question();
    if (job.question.targets.empty()) {
        job.question.targets = {engine::usualTarget(job.card())};
    }
    job.question.checkpoints = opened.checkpoints;
    job.question.stopAtCheckpoints = opened.stopAtCheckpoints;
    RETRO_CHECK(base::checkStop(token));
    auto graph = std::make_shared<ExplainDone>();
    graph->generation = job.generation;
    graph->model = job.model;
    RETRO_TRY(graph->run, graphOnly(*job.model, token));
    describe(*graph);
    const graph::Graph& shown = *graph->run.run->graph;
    for (views::Problem& problem : graph->problems) { // of the graph of the model, which may have fewer nodes
        const bool isNamed = problem.node.isValid();
        problem.node = (isNamed ? shown.findNode(job.model->graph()->labelOf(problem.node)) : std::nullopt)
                           .value_or(base::NodeId());
    }
    graph->fused = std::make_shared<views::FusedNodes>(fusedNodes(*job.model, shown));
    emit graphReady(graph);
    return {};
}

Result<void> EngineWorker::explainModel(ExplainJob& job, std::stop_token token)
{
    if (!job.model) {
        RETRO_CHECK(readModel(job, token));
    }
    const base::ReadingScope read("an input");
    const engine::LoadedModelPointer asked = job.model;
    RETRO_TRY(job.model, modelOf(job, token));
    const bool namesText = engine::namesText(job.question);
    if (job.question.inputs.empty() && !namesText) {
        job.question.inputs = defaultInputs(*job.model);
    }
    if (job.question.inputs.empty() && !namesText) {
        return {};
    }
    RETRO_TRY(const std::optional<engine::LanguageQuestion> language, languageOf(job));
    RETRO_TRY(engine::ExplainRequest request, requestWithInputs(job));
    if (job.plan) {
        emit progress(job.generation, tr("Running the plan"), -1);
        RETRO_TRY(const std::shared_ptr<ExplainDone> done, passByPlan(job, std::move(request), token));
        done->predicted = predictedOf(done->run.run->values[done->run.run->graph->outputs().front().index()]);
        done->inputFiles = read.files();
        emit explained(done);
        return {};
    }
    request.record = true;
    request.keepValues = true;
    request.forwarding = job.forwarding ? job.forwarding : request.forwarding;
    request.keepsPass = !job.isLive; // another rule then computes what lies below it alone
    RETRO_TRY(engine::ExplainResult answer,
              job.isLive ? explainerOf(job.model).explain(request, token)
                         : explainerOf(job.model).explain(request, token, progressOf(job.generation)));
    const auto held = std::make_shared<const engine::ExplainResult>(std::move(answer));
    base::Leftovers::add(held);
    const engine::ExplainResult& result = *held;
    auto done = std::make_shared<ExplainDone>();
    done->generation = job.generation;
    done->model = job.model;
    done->composite = job.question.composite = request.composite;
    job.question.rules.clear(); // they are part of it
    done->bound = result.model;
    done->assigned = result.assigned;
    done->warnings = result.warnings;
    done->rulesApplied = result.rulesApplied;
    done->rulesReused = result.rulesReused;
    done->inputs = job.question.inputs;
    done->inputFiles = read.files();
    done->job = job;
    done->hasRelevance = true;
    done->predicted = predictedOf(result.outputs.front());
    done->input = inputInfo(*result.run);
    if (job.model != asked) {
        describe(*done);
    }
    RETRO_TRY(views::FusedNodes fused, openNodes(*job.model, request, result, job.opened, token));
    done->fused = std::make_shared<views::FusedNodes>(std::move(fused));
    engine::LanguageReport report;
    if (language) {
        RETRO_TRY(report, engine::reportOf(*language, *job.model, job.question, result));
        RETRO_CHECK(engine::addAttention(*language, job.question, request, result, textWish(), report, token));
        done->text = std::make_shared<const trace::RunText>(engine::runText(report));
    }
    RETRO_TRY(done->run, makeHandle(result.run, token));
    emit explained(done);
    if (job.isChoice && !isEmbedded(*job.model)) {
        emit choicesSaved(saveChoices(job, *job.model));
    }
    request.forwarding.reset(); // other rules read other values
    if (language) {
        return goOnWithText(job, *language, request, result, std::move(report), token);
    }
    return runComparisons(job, request, token, done->input.isPicture);
}

Result<void> EngineWorker::goOnWithText(const ExplainJob& job, const engine::LanguageQuestion& language,
                                        const engine::ExplainRequest& request, const engine::ExplainResult& result,
                                        engine::LanguageReport report, std::stop_token token)
{
    const auto count = static_cast<double>(std::max<std::int64_t>(1, language.generates));
    const auto tell = [&](const engine::LanguageReport& grown) {
        emit textGrown(job.generation, std::make_shared<const trace::RunText>(engine::runText(grown)));
        emit progress(job.generation, tr("Going on with the text"),
                      static_cast<double>(grown.generated.size()) / count);
    };
    return engine::addGeneration(language, *job.model, job.question, request, result, report, token, textWish(), tell);
}

Result<std::vector<CompositeSample>> EngineWorker::sampleComposites(const ExplainJob& job, const std::string& chosen,
                                                                    engine::ExplainRequest request,
                                                                    const std::stop_token& token)
{
    std::vector<CompositeSample> samples;
    const bool isSteps = job.model->card && job.model->card->layout.starts_with("NT");
    for (const char* composite : isSteps ? kStepComposites : kSampleComposites) {
        // The one on screen with the numbers that were turned, the others as they are by themselves.
        request.composite = kindOf(chosen) == composite ? chosen : composite;
        const Result<engine::ExplainResult> result = explainerOf(job.model).explain(request, token);
        if (!result && result.error().code == base::ErrorCode::Cancelled) {
            return result.error();
        }
        if (result) { // rules that do not fit this model have no small heatmap
            samples.push_back({QString::fromLatin1(composite),
                               result->relevance[job.model->graph()->inputs()[pictureInput(*result)].index()]});
        }
    }
    return samples;
}

Result<void> EngineWorker::runComparisons(const ExplainJob& job, const engine::ExplainRequest& request,
                                          std::stop_token token, bool isPicture)
{
    auto done = std::make_shared<ComparisonDone>();
    done->generation = job.generation;
    engine::ExplainRequest plain = request;
    plain.record = false;
    plain.keepValues = false;
    plain.keepsPass = false;
    plain.checkpoints.clear(); // the small pictures are of the input
    plain.stopAtCheckpoints = false;
    Result<std::optional<ControlResult>> control = explainControl(job, plain, token);
    if (control) {
        done->control = std::move(control).value();
    } else if (control.error().code == base::ErrorCode::Cancelled) {
        return control.error();
    } else { // the run itself is good: only the comparison is missing
        done->controlFailure = QString::fromStdString(control.error().text());
    }
    if (isPicture || (job.model->card && job.model->card->layout.starts_with("NT"))) {
        RETRO_TRY(done->samples, sampleComposites(job, request.composite, plain, token));
    }
    emit compared(done);
    return {};
}

engine::Explainer& EngineWorker::explainerOf(const engine::LoadedModelPointer& model)
{
    if (!m_explainer || m_explainer->model() != model) {
        base::Leftovers::leave(std::move(m_explainer)); // a pass through 100,000 nodes is long to take apart
        m_explainer = std::make_unique<engine::Explainer>(model);
    }
    return *m_explainer;
}

engine::StageProgress EngineWorker::progressOf(std::uint64_t generation)
{
    QElapsedTimer timer;
    timer.start();
    return [this, generation, timer](const std::string& stage, std::size_t done, std::size_t total) mutable {
        if (timer.elapsed() < kProgressMilliseconds) {
            return;
        }
        timer.restart();
        emit progress(generation, wordsOf(stage),
                      total == 0 ? -1.0 : static_cast<double>(done) / static_cast<double>(total));
    };
}

} // namespace retro::app

#include "moc_engineworker.cpp"
