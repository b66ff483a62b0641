// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/explainerexport.h"

#include "core/engine/explainer/relevancegraph.h"
#include "core/engine/explainer/wordstart.h"
#include "core/engine/question/resolve.h"

#include <QFileDialog>
#include <QFileInfo>

#include <filesystem>
#include <memory>

namespace retro::app
{

namespace
{

base::Result<engine::RelevanceGraph> writtenGraph(const std::filesystem::path& file, const ExplainJob& job,
                                                  const std::stop_token& stop)
{
    std::error_code unknown;
    if (std::filesystem::equivalent(file, job.model->path, unknown)) {
        return base::usageError("the graph would be written over the model; choose another name", file.string());
    }
    engine::Question question = job.question;
    question.graphOut = file.string();
    question.inputs.clear(); // nothing runs
    question.text.clear();
    question.ids.clear();
    question.checkpoints.clear();
    question.stopAtCheckpoints = false;
    question.traversal.clear();
    RETRO_TRY(engine::ExplainRequest request, engine::resolve(question, *job.model));
    engine::RelevanceGraphForm form;
    form.version = RETRO_VERSION;
    const bool isChosen = !question.targets.empty() || question.start == "all";
    form.start = isChosen ? engine::GraphStart::Fixed : engine::GraphStart::ByInput;
    RETRO_CHECK(engine::startAtWord(*job.model, question, request, form));
    return engine::writeRelevanceGraph(file, job.model, request, form, stop);
}

} // namespace

void addExplainerExportAction(views::ActionRegistry& actions)
{
    actions.add({"export.explainer", RETRO_ACTION("Explanation as a mo&del…"),
                 RETRO_ACTION("Save forward and relevance pass of these rules as one standard ONNX graph"), "export",
                 ""});
}

ExplainerExport::ExplainerExport(views::ActionRegistry& actions, Asked asked, QWidget& window)
    : QObject(&window), m_asked(std::move(asked)), m_window(window), m_jobs(this)
{
    connect(&actions.at(QStringLiteral("export.explainer")), &QAction::triggered, this, &ExplainerExport::ask);
}

void ExplainerExport::ask()
{
    if (!m_asked()) {
        emit said(tr("The explanation of a model is written: open the model of this run first."));
        return;
    }
    QString path = QFileDialog::getSaveFileName(&m_window, tr("Save the explanation as a model"),
                                                QStringLiteral("explainer.onnx"), tr("ONNX (*.onnx)"));
    if (path.isEmpty()) {
        return;
    }
    if (QFileInfo(path).suffix().isEmpty()) {
        path += QStringLiteral(".onnx");
    }
    write(path);
}

void ExplainerExport::write(const QString& path)
{
    const std::optional<ExplainJob> job = m_asked();
    if (!job || !job->model) {
        emit said(tr("The explanation of a model is written: open the model of this run first."));
        return;
    }
    emit said(tr("Writing %1…").arg(QFileInfo(path).fileName()));
    m_jobs.start([this, path, job = *job](const std::stop_token& stop) {
        auto made = std::make_shared<base::Result<engine::RelevanceGraph>>(writtenGraph(path.toStdString(), job, stop));
        return views::JobRunner::Delivery([this, path, made] {
            if (made->ok()) {
                emit wrote(path);
            } else {
                emit failed(made->error());
            }
        });
    });
}

} // namespace retro::app

#include "moc_explainerexport.cpp"
