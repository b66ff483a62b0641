// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/diagnosecontroller.h"

#include "app/gui/embeddedsample.h"
#include "app/gui/facts/findingdrawings.h"
#include "app/gui/window/filefilters.h"
#include "core/engine/question/resolve.h"
#include "core/formats/cardwriter.h"
#include "core/tensor/npy.h"
#include "views/common/jobrunner.h"
#include "views/common/paint/background.h"
#include "views/diagnose/diagnoseview.h"
#include "views/run/runpanel.h"

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QPointer>
#include <QTemporaryDir>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <mutex>

namespace retro::app
{

namespace
{

using diagnosis::Finding;
using views::ActionSpec;

constexpr std::array kDiagnoseActions{
    ActionSpec{"run.diagnose", RETRO_ACTION("&Diagnose"),
               RETRO_ACTION("Show what may be wrong with this explanation or its model, where, and what to do"),
               "check", "Ctrl+D"},
    ActionSpec{"run.diagnose.deep", RETRO_ACTION("Diagnose dee&ply"),
               RETRO_ACTION("Also run the checks that run the model again"), "check", ""},
    ActionSpec{"run.diagnose.compare", RETRO_ACTION("Diagnose &beside…"),
               RETRO_ACTION("Find what differs from a model, a recorded run or an input that is known to be good"),
               "open", ""},
    ActionSpec{"run.diagnose.folder", RETRO_ACTION("Diagnose with a f&older…"),
               RETRO_ACTION("Find what only many inputs show, best with a table of their classes"), "open", ""},
};

/// Finding by finding, also those that follow from another.
template <class Take>
void forEach(const std::vector<Finding>& findings, const std::set<std::string>& aside, const Take& take)
{
    for (const Finding& finding : findings) {
        if (!aside.contains(views::keyOf(finding))) {
            take(finding);
            for (const Finding& below : finding.also) {
                take(below);
            }
        }
    }
}

views::FoundNodes nodesOf(const views::DiagnosisState& state)
{
    std::map<base::NodeId, views::FoundNode> nodes;
    if (state.diagnosis) {
        forEach(state.diagnosis->findings, state.setAside, [&](const Finding& finding) {
            if (finding.place.node.isValid()) {
                views::FoundNode& found = nodes[finding.place.node];
                found.node = finding.place.node;
                found.level = std::max(found.level, static_cast<std::uint8_t>(finding.level));
                found.text += (found.text.isEmpty() ? QString() : QStringLiteral("\n")) + views::wordOf(finding.level) +
                              QStringLiteral(": ") + QString::fromStdString(finding.what);
            }
        });
    }
    auto all = std::make_shared<std::vector<views::FoundNode>>();
    for (const auto& [node, found] : nodes) {
        all->push_back(found);
    }
    return all;
}

/// Notes are no problems.
std::vector<views::Problem> problemsIn(const views::DiagnosisState& state, const views::RunModel& model)
{
    std::vector<views::Problem> problems;
    for (const Finding& finding : state.diagnosis ? state.diagnosis->findings : std::vector<Finding>()) {
        if (finding.level == diagnosis::Level::Note || state.setAside.contains(views::keyOf(finding))) {
            continue;
        }
        views::Problem problem{finding.level == diagnosis::Level::Error ? views::Severity::Error
                                                                        : views::Severity::Warning,
                               views::ProblemOrigin::Diagnosis};
        problem.what = QString::fromStdString(finding.place.name + " " + finding.what);
        problem.remedy = QString::fromStdString(finding.meaning());
        const bool isOnScreen = model.hasRun() && state.graph == model.run().graph;
        problem.node = isOnScreen ? finding.place.node : base::NodeId();
        problems.push_back(std::move(problem));
    }
    return problems;
}

/// The first line of a table names the columns file and label.
bool isOfLabels(const QFileInfo& table)
{
    constexpr qint64 kLongestLine = 4096;
    QFile file(table.filePath());
    const QStringList columns = file.open(QIODevice::ReadOnly)
                                    ? QString::fromUtf8(file.readLine(kLongestLine)).trimmed().split(QLatin1Char(','))
                                    : QStringList();
    return columns.contains(QLatin1String("file")) && columns.contains(QLatin1String("label"));
}

/// The tables in a folder; where there is none, those beside it that may be of its labels.
QFileInfoList tablesFor(const QString& folder)
{
    const QStringList names{QStringLiteral("*.csv")};
    QFileInfoList tables = QDir(folder).entryInfoList(names, QDir::Files);
    if (tables.isEmpty()) {
        std::ranges::copy_if(QFileInfo(folder).dir().entryInfoList(names, QDir::Files), std::back_inserter(tables),
                             isOfLabels);
    }
    return tables;
}

} // namespace

void addDiagnoseActions(views::ActionRegistry& actions) { actions.addAll(kDiagnoseActions); }

DiagnoseController::DiagnoseController(views::ActionRegistry& actions, std::vector<views::DiagnoseView*> panes,
                                       views::RunModel& model, views::RunPanel& panel, QWidget& window)
    : QObject(&window), m_panes(std::move(panes)), m_model(model), m_panel(panel), m_window(window),
      m_jobs(new views::JobRunner(this)), m_cards(new views::JobRunner(this)), m_previews(new views::JobRunner(this))
{
    for (views::DiagnoseView* pane : m_panes) {
        pane->setOffers([this](const Finding& finding) {
            const Mend mend = mendOf(finding, stage());
            return views::FindingOffer{mend.text, mend.tip, mend.by == MendBy::Question && m_request && m_request->run};
        });
        pane->setDrawings([this](const Finding& finding) {
            const bool isOfRun = m_request && m_request->run && m_state.graph == m_request->run->graph;
            return evidenceOf(finding, isOfRun ? m_request->run.get() : nullptr);
        });
        connect(pane, &views::DiagnoseView::previewRequested, this, &DiagnoseController::preview);
        connect(pane, &views::DiagnoseView::checkRequested, this,
                [this](bool isDeep) { check(isDeep ? DiagnoseScope::Deep : DiagnoseScope::All); });
        connect(pane, &views::DiagnoseView::compareRequested, this, &DiagnoseController::chooseReference);
        connect(pane, &views::DiagnoseView::referenceDropped, this, [this] { compareWith({}); });
        connect(pane, &views::DiagnoseView::folderRequested, this, &DiagnoseController::chooseFolder);
        connect(pane, &views::DiagnoseView::stopRequested, this, &DiagnoseController::stopChecking);
        connect(pane, &views::DiagnoseView::mendRequested, this, &DiagnoseController::mend);
        connect(pane, &views::DiagnoseView::setAsideRequested, this, &DiagnoseController::setAside);
        connect(pane, &views::DiagnoseView::takeBackRequested, this, &DiagnoseController::takeBack);
    }
    connect(&actions.at(QStringLiteral("run.diagnose")), &QAction::triggered, this, [this] {
        emit viewWanted();
        if (!m_state.diagnosis && !isChecking()) {
            check(DiagnoseScope::All);
        }
    });
    connect(&actions.at(QStringLiteral("run.diagnose.deep")), &QAction::triggered, this, [this] {
        emit viewWanted();
        check(DiagnoseScope::Deep);
    });
    connect(&actions.at(QStringLiteral("run.diagnose.compare")), &QAction::triggered, this,
            &DiagnoseController::chooseReference);
    connect(&actions.at(QStringLiteral("run.diagnose.folder")), &QAction::triggered, this,
            &DiagnoseController::chooseFolder);
    clear();
}

DiagnoseController::~DiagnoseController() = default;

bool DiagnoseController::isChecking() const { return m_jobs->isRunning(); }

void DiagnoseController::take(const ExplainDone& done, const QString& path)
{
    m_isPicture = done.input.isPicture && done.model;
    if (!done.run.run || done.run.run->events.empty()) {
        forget(tr("Nothing was run yet: choose an input and press Run."));
        return;
    }
    takeCard(done.model);
    const std::string reference = m_request ? m_request->reference : std::string();
    // A folder takes many passes: it is looked at again where a finding is tried.
    const auto [folder, labels] =
        m_request && m_change ? std::pair(m_request->folder, m_request->labels) : std::pair<std::string, std::string>();
    // A recorded run that is opened is not one of many: it gets all that `diagnose` has for it.
    const DiagnoseScope scope = done.model ? DiagnoseScope::Cheap : DiagnoseScope::All;
    m_request = DiagnoseRequest{done.job, done.run.run, done.bound, done.assigned, reference, scope};
    m_request->job.model = done.model;
    m_request->folder = folder;
    m_request->labels = labels;
    m_state.folder = QFileInfo(QString::fromStdString(folder)).fileName();
    if (!done.model) {
        m_request->job.path = path;
    }
    m_state.refusal.clear();
    if (!m_change) {
        m_state.change.clear();
        m_state.canTakeBack = false;
        m_before.reset();
    }
    begin(m_change ? m_change->scope : scope);
}

void DiagnoseController::takeFailure(ExplainJob job, const engine::LoadedModelPointer& model)
{
    const bool isOpened = model && job.path == QString::fromStdString(model->path.string());
    if (!job.model && !isOpened) {
        return; // it could not be read; what is on screen stays
    }
    if (!job.model) {
        job.model = model;
        job.question = engine::completed(job.question, job.card());
    }
    if (job.question.inputs.empty()) {
        job.question.inputs = defaultInputs(*job.model);
    }
    takeCard(job.model);
    m_change.reset();
    m_before.reset();
    m_state.change.clear();
    m_state.canTakeBack = false;
    m_state.refusal.clear();
    m_request = DiagnoseRequest{std::move(job), nullptr, nullptr, nullptr, {}, DiagnoseScope::Cheap};
    begin(DiagnoseScope::Cheap);
}

void DiagnoseController::takeModel(const engine::LoadedModelPointer& model)
{
    forget(tr("Nothing was run yet: choose an input and press Run."));
    takeCard(model);
}

void DiagnoseController::clear()
{
    m_loaded.reset();
    m_state.setAside.clear();
    forget(tr("Nothing is open: open a model and run it."));
}

void DiagnoseController::forget(const QString& refusal)
{
    m_jobs->cancel();
    m_previews->cancel();
    showPreview({});
    m_due.reset();
    m_request.reset();
    m_change.reset();
    m_before.reset();
    const std::set<std::string> aside = std::move(m_state.setAside);
    m_state = {};
    m_state.setAside = aside;
    m_state.refusal = refusal;
    publish();
}

void DiagnoseController::setRunning(bool isRunning)
{
    if (isRunning) {
        m_jobs->cancel(); // its run is about to go
        m_previews->cancel();
        showPreview({});
        m_state.stage.clear();
        m_state.isStale = m_state.diagnosis != nullptr;
    } else if (m_request && m_due && !isChecking()) { // the job was stopped: what was on screen stays there
        begin(*m_due);
    } else {
        m_state.isStale = m_state.isStale && isChecking();
    }
    show();
}

void DiagnoseController::check(DiagnoseScope scope)
{
    if (!m_request) {
        emit said(m_state.refusal);
        return;
    }
    begin(scope);
}

void DiagnoseController::compareWith(const QString& path)
{
    if (!m_request) {
        emit said(m_state.refusal);
        return;
    }
    m_request->reference = path.toStdString();
    m_state.reference = QFileInfo(path).fileName();
    if (path.isEmpty()) {
        m_request->folder.clear();
        m_state.folder.clear();
    }
    begin(DiagnoseScope::All);
}

void DiagnoseController::lookAt(const QString& folder, const QString& labels)
{
    if (!m_request || !m_request->job.model) {
        emit said(m_request ? tr("The model of this recorded run is not open: open the model and run it.")
                            : m_state.refusal);
        return;
    }
    m_request->folder = QDir(folder).absolutePath().toStdString();
    m_request->labels = labels.toStdString();
    m_state.folder = QDir(folder).dirName();
    begin(DiagnoseScope::All);
}

/// A table that lies in the folder or beside it is that of its labels; of several a person chooses one.
void DiagnoseController::chooseFolder()
{
    emit viewWanted();
    const QString folder = QFileDialog::getExistingDirectory(&m_window, tr("A folder of inputs of this model"));
    if (folder.isEmpty()) {
        return;
    }
    const QFileInfoList tables = tablesFor(folder);
    QString table = tables.isEmpty() ? QString() : tables.front().filePath();
    if (tables.size() > 1) {
        table = QFileDialog::getOpenFileName(&m_window, tr("Their classes: a table with the columns file and label"),
                                             tables.front().path(), tr("Tables (*.csv)"));
        if (table.isEmpty()) {
            return;
        }
    }
    lookAt(folder, table);
}

void DiagnoseController::showProgress(std::size_t done, std::size_t total)
{
    m_state.stage = tr("Checking: %1 of %2 passes over the folder").arg(done).arg(total);
    show();
}

void DiagnoseController::stopChecking()
{
    m_jobs->cancel();
    m_due.reset();
    m_change.reset();
    m_state.stage.clear();
    if (m_state.isStale) { // it is of another run, and nothing comes in its place
        m_state.diagnosis.reset();
        m_state.isStale = false;
    }
    publish();
}

void DiagnoseController::chooseReference()
{
    emit viewWanted();
    if (!m_request) {
        emit said(m_state.refusal);
        return;
    }
    const QStringList endings = modelAndRunEndings() << QStringLiteral("png jpg npy txt").split(QLatin1Char(' '));
    const QString filters = filterOf(tr("Models, runs and inputs"), endings) + tr(";;All files (*)");
    const QString path = QFileDialog::getOpenFileName(&m_window, tr("Something that is known to be good"), {}, filters);
    if (!path.isEmpty()) {
        compareWith(path);
    }
}

void DiagnoseController::begin(DiagnoseScope scope)
{
    m_due = scope;
    DiagnoseRequest request = *m_request;
    request.scope = scope;
    request.weighed = m_weighed;
    request.progress = [self = QPointer(this)](const std::string&, std::size_t done, std::size_t total) {
        QMetaObject::invokeMethod(qApp, [self, done, total] {
            if (self && self->isChecking()) {
                self->showProgress(done, total);
            }
        });
    };
    m_state.stage = scope == DiagnoseScope::Deep ? tr("Checking deeply") : tr("Checking");
    m_state.isStale =
        m_state.diagnosis && (m_state.isStale || m_state.graph != (request.run ? request.run->graph : nullptr));
    m_jobs->start([this, request, scope](const std::stop_token& stop) -> views::JobRunner::Delivery {
        auto found = std::make_shared<const base::Result<diagnosis::Diagnosis>>(diagnosisOf(request, stop));
        return [this, found, scope] { deliver(found, scope); };
    });
    show();
}

void DiagnoseController::deliver(const std::shared_ptr<const base::Result<diagnosis::Diagnosis>>& found,
                                 DiagnoseScope scope)
{
    m_due.reset();
    m_state.stage.clear();
    m_state.isStale = false;
    if (!found->ok()) {
        const base::Error& error = found->error();
        if (error.code != base::ErrorCode::Cancelled) {
            m_state.reference.clear();
            m_request->reference.clear();
            m_state.folder.clear();
            m_request->folder.clear();
            emit said(QString::fromStdString(error.text()));
            m_state.refusal = m_state.diagnosis ? QString() : QString::fromStdString(error.text());
        }
        publish();
        return;
    }
    m_state.diagnosis = std::make_shared<const diagnosis::Diagnosis>(**found);
    m_state.graph = m_request->run ? m_request->run->graph : nullptr;
    m_scope = scope;
    if (m_change) {
        m_state.change =
            m_isTakingBack ? QString() : views::changeText(*m_change->before, *m_state.diagnosis, m_change->key);
        m_before = m_isTakingBack ? std::nullopt : std::optional(m_change->question);
        m_change.reset();
        m_isTakingBack = false;
    }
    m_state.canTakeBack = m_before.has_value();
    publish();
}

void DiagnoseController::show()
{
    for (views::DiagnoseView* pane : m_panes) {
        pane->setState(m_state);
    }
}

/// To the panes, the list of problems and the graph.
void DiagnoseController::publish()
{
    show();
    emit problemsFound(problemsIn(m_state, m_model));
    emit nodesFound(nodesOf(m_state));
}

ReportedDiagnosis DiagnoseController::reported() const
{
    const bool isOfRun = m_model.hasRun() && m_state.graph == m_model.run().graph && !m_state.isStale;
    return isOfRun ? ReportedDiagnosis{m_state.diagnosis, m_state.setAside} : ReportedDiagnosis();
}

const formats::ModelCard* DiagnoseController::card() const
{
    return m_loaded && m_loaded->card ? &*m_loaded->card : nullptr;
}

MendStage DiagnoseController::stage() const
{
    MendStage stage;
    stage.question = m_panel.question();
    stage.graph = m_state.graph.get();
    stage.card = card();
    stage.reference = m_request ? QString::fromStdString(m_request->reference) : QString();
    stage.isPicture = m_isPicture;
    stage.isRecorded = !m_request || !m_request->job.model;
    return stage;
}

void DiagnoseController::mend(const Finding& finding)
{
    const Mend mend = mendOf(finding, stage());
    switch (mend.by) {
    case MendBy::Question:
        askFor(finding, mend.question);
        return;
    case MendBy::Transpose:
    case MendBy::Rescale:
        askWithInput(finding, mend);
        return;
    case MendBy::Dialog:
        emit ruleWanted(mend.node);
        return;
    case MendBy::Weights:
        emit weightsWanted(mend.value);
        return;
    case MendBy::SelectBoth:
        emit bothWanted(mend.node, mend.other);
        return;
    case MendBy::ChooseInput:
        emit inputWanted();
        return;
    case MendBy::Cover:
        m_change = Change{views::keyOf(finding), m_state.diagnosis, m_panel.question(), m_scope};
        emit holdWanted();
        emit coverWanted(mend.cover);
        return;
    case MendBy::Nothing:
        return;
    }
}

void DiagnoseController::askFor(const Finding& finding, const engine::Question& question)
{
    m_change = Change{views::keyOf(finding), m_state.diagnosis, m_panel.question(), m_scope};
    m_isTakingBack = false;
    if (m_model.hasRun() && m_model.run().eventCount() > 0) {
        emit holdWanted();
    }
    emit questionWanted(question);
}

/// The array that was changed lies in a folder of its own: the file of the person stays as it is.
void DiagnoseController::askWithInput(const Finding& finding, const Mend& mend)
{
    const auto make = [&]() -> base::Result<QString> {
        ExplainJob job = m_request->job;
        RETRO_TRY(const std::vector<tensor::Tensor> inputs, readInputs(job));
        if (inputs.size() != 1) {
            return base::inputError("only the input of a model with one input can be changed here");
        }
        RETRO_TRY(const tensor::Tensor changed, mend.by == MendBy::Transpose ? transposed(inputs.front(), mend.order)
                                                                             : rescaled(inputs.front(), *card()));
        if (!m_folder) {
            m_folder = std::make_unique<QTemporaryDir>();
        }
        const QString name = QFileInfo(QString::fromStdString(job.question.inputs.front())).completeBaseName() +
                             (mend.by == MendBy::Transpose ? tr("-transposed") : tr("-by-card")) +
                             QStringLiteral(".npy");
        RETRO_CHECK(tensor::writeNpy(m_folder->filePath(name).toStdString(), changed));
        return m_folder->filePath(name);
    };
    const base::Result<QString> file = make();
    if (!file) {
        emit said(QString::fromStdString(file.error().text()));
        return;
    }
    engine::Question question = m_panel.question();
    question.inputs = {file->toStdString()};
    askFor(finding, question);
}

void DiagnoseController::showPreview(const views::FindingPreview& preview)
{
    for (views::DiagnoseView* pane : m_panes) {
        pane->setPreview(preview);
    }
}

bool DiagnoseController::isPreviewing() const { return m_previews->isRunning(); }

void DiagnoseController::preview(const Finding& finding)
{
    const Mend mend = mendOf(finding, stage());
    if (mend.by != MendBy::Question || !m_request || !m_request->run) {
        return;
    }
    views::FindingPreview pending;
    pending.key = views::keyOf(finding);
    pending.changes = mend.text;
    pending.isRunning = true;
    showPreview(pending);
    m_previews->start([this, request = *m_request, question = mend.question, finding,
                       pending](const std::stop_token& stop) -> views::JobRunner::Delivery {
        base::Result<views::FindingPreview> made = previewOf(request, question, finding, stop);
        views::FindingPreview preview = pending;
        preview.isRunning = false;
        if (made) {
            preview = std::move(made).value();
        } else {
            preview.failure = QString::fromStdString(made.error().text());
        }
        return [this, preview] { showPreview(preview); };
    });
}

void DiagnoseController::takeBack()
{
    if (!m_before) {
        return;
    }
    const engine::Question question = *m_before;
    m_before.reset();
    m_state.change.clear();
    m_state.canTakeBack = false;
    m_change = Change{{}, m_state.diagnosis, m_panel.question(), m_scope};
    m_isTakingBack = true;
    emit questionWanted(question);
}

/// What a card keeps holds for the file, however often it is read.
void DiagnoseController::takeCard(const engine::LoadedModelPointer& model)
{
    const bool isSame = model && m_loaded && model->path == m_loaded->path;
    m_loaded = model;
    if (!isSame) {
        const formats::ModelCard* own = card();
        m_state.setAside = own == nullptr ? std::set<std::string>()
                                          : std::set<std::string>(own->notAProblem.begin(), own->notAProblem.end());
        emit asideRead();
    }
}

void DiagnoseController::setAside(const Finding& finding, bool isSetAside)
{
    const std::string key = views::keyOf(finding);
    if (isSetAside) {
        m_state.setAside.insert(key);
    } else {
        m_state.setAside.erase(key);
    }
    saveAside();
    publish();
    emit asideChosen();
}

void DiagnoseController::putAside(const std::set<std::string>& keys)
{
    m_state.setAside = keys;
    saveAside();
    publish();
}

/// Cards are written one after the other, and only what was chosen last for each.
struct DiagnoseController::CardWrites
{
    std::mutex writing; ///< held while a file is written
    std::mutex counting;
    std::map<std::filesystem::path, std::uint64_t> newest; ///< number of the last choice

    std::uint64_t next(const std::filesystem::path& model)
    {
        const std::lock_guard lock(counting);
        return ++newest[model];
    }
    bool isNewest(const std::filesystem::path& model, std::uint64_t number)
    {
        const std::lock_guard lock(counting);
        return newest[model] == number;
    }
};

void DiagnoseController::saveAside()
{
    const bool isFile =
        m_loaded && !isEmbedded(*m_loaded) && QFileInfo::exists(QString::fromStdString(m_loaded->path.string()));
    if (!isFile) {
        emit said(tr("Kept until the window closes: there is no model file that a card could lie beside."));
        return;
    }
    if (!m_writes) {
        m_writes = std::make_shared<CardWrites>();
    }
    m_cards->start([this, path = m_loaded->path, writes = m_writes, number = m_writes->next(m_loaded->path),
                    keys = std::vector<std::string>(m_state.setAside.begin(), m_state.setAside.end())](
                       const std::stop_token& /*stop*/) -> views::JobRunner::Delivery {
        const std::lock_guard lock(writes->writing);
        if (!writes->isNewest(path, number)) {
            return {}; // a later choice is written, or was
        }
        const base::Result<void> saved = formats::saveNotAProblem(path, keys);
        const QString sentence =
            saved ? tr("Kept in the card beside the model.")
                  : tr("Kept until the window closes: %1").arg(QString::fromStdString(saved.error().text()));
        return [this, sentence] { emit said(sentence); };
    });
}

} // namespace retro::app

#include "moc_diagnosecontroller.cpp"
