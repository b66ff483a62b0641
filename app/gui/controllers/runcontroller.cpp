// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/runcontroller.h"

#include "app/gui/controllers/covercontroller.h"
#include "app/gui/jobs/engineworker.h"
#include "core/engine/explain/target.h"
#include "core/engine/question/fields.h"
#include "core/engine/question/resolve.h"
#include "views/run/runpanel.h"

#include <fmt/format.h>

#include <span>

namespace retro::app
{

namespace
{

bool isSameFile(const engine::LoadedModelPointer& a, const engine::LoadedModelPointer& b)
{
    return a && b && a->read == b->read;
}

/// Class `index` of what `target` explains: of the model's output, or of sample 0 of a value that is named.
std::string targetOfClass(const std::string& target, std::span<const std::string> labels, std::int64_t index)
{
    const auto asked = engine::parseTarget(target, labels);
    return asked && asked->namesValue() ? fmt::format("{}:0,{}", asked->value, index) : std::to_string(index);
}

/// An element or a segment, of the value that `code` names, else of the one that `target` names, else of the model's
/// output.
std::string targetAt(const std::string& target, std::span<const std::string> labels, const std::string& code)
{
    const auto place = engine::parseTarget(code, labels);
    if (place && place->namesValue()) {
        return code;
    }
    const auto asked = engine::parseTarget(target, labels);
    return asked && asked->namesValue() ? fmt::format("{}:{}", asked->value, code) : code;
}

/// What the card of a model calls its classes.
std::span<const std::string> labelsOf(const engine::LoadedModelPointer& model)
{
    return model && model->card ? std::span<const std::string>(model->card->labels) : std::span<const std::string>();
}

} // namespace

RunController::RunController(views::RunPanel& panel, EngineWorker& engine, CoverController& cover, QObject* parent)
    : QObject(parent), m_panel(panel), m_engine(engine), m_cover(cover)
{
    connect(&panel, &views::RunPanel::questionChanged, this, &RunController::look);
    connect(&panel, &views::RunPanel::followChanged, &cover, &CoverController::setFollowing);
    connect(&panel, &views::RunPanel::ruleNumbersChanged, this, [this] {
        if (m_model) {
            ExplainJob turned = job();
            turned.isLive = true;
            emit jobWanted(turned);
        }
    });
    connect(&panel, &views::RunPanel::askRequested, this, [this] {
        if (m_model) {
            emit jobWanted(job());
        }
    });
    connect(&engine, &EngineWorker::checked, this,
            [this](const std::shared_ptr<const views::QuestionCheck>& check) { m_panel.setCheck(*check); });
    connect(&engine, &EngineWorker::choicesSaved, &panel, &views::RunPanel::setNote);
}

void RunController::setModel(engine::LoadedModelPointer model)
{
    const bool isOther = m_model != model && !isSameFile(m_model, model);
    m_model = std::move(model);
    if (isOther) {
        m_hasChosen = false;
        takeOpened();
    }
    look();
}

ExplainJob RunController::job() const
{
    ExplainJob job;
    job.model = m_model;
    job.question = m_panel.question();
    if (!job.question.inputs.empty()) {
        job.cover = m_cover.coverFor(job.question.inputs);
    }
    return job;
}

void RunController::takeOpened() { m_opened = m_panel.question(); }

ExplainJob RunController::jobOfRun()
{
    m_hasChosen = m_hasChosen || !engine::isSameInCard(m_panel.question(), m_opened);
    ExplainJob asked = job();
    asked.isChoice = m_hasChosen;
    asked.setsRewrites = true;
    return asked;
}

void RunController::askClass(std::int64_t index)
{
    if (!m_model) {
        emit said(tr("A recorded run answers one question. Open its model to explain another class."));
        return;
    }
    engine::Question question = m_panel.question();
    question.targets = {targetOfClass(question.targets.front(), labelsOf(m_model), index)};
    m_panel.setQuestion(question);
    emit jobWanted(job());
}

void RunController::askAs(const QString& code, const QString& start)
{
    if (!m_model) {
        emit said(tr("A recorded run answers one question. Open its model to explain another place."));
        return;
    }
    engine::Question question = m_panel.question();
    question.targets = {targetAt(question.targets.front(), labelsOf(m_model), code.toStdString())};
    question.start = start.isEmpty() ? question.start : start.toStdString();
    m_panel.setQuestion(question);
    emit jobWanted(job());
}

void RunController::chooseValue(const QString& value)
{
    if (!m_model) {
        emit said(tr("A recorded run answers one question. Open its model to explain another value."));
        return;
    }
    engine::Question question = m_panel.question();
    question.targets = {value.toStdString()};
    m_panel.setQuestion(question);
    look();
    emit said(tr("The next run explains %1. Press Run.").arg(value));
}

void RunController::putQuestion(const engine::Question& question)
{
    m_panel.setQuestion(question);
    look();
}

void RunController::setCheckpoint(const QString& value, bool isOn)
{
    if (!m_model) {
        emit said(tr("A recorded run answers one question. Open its model to take checkpoints."));
        return;
    }
    m_panel.setCheckpoint(value, isOn);
    emit said(isOn ? tr("The next run keeps the relevance of %1. Press Run.").arg(value)
                   : tr("The next run takes no checkpoint at %1.").arg(value));
}

void RunController::look()
{
    if (m_model) {
        emit asked(job());
    }
    const engine::Question asked = m_panel.question();
    if (m_model && (!asked.inputs.empty() || engine::namesText(asked))) {
        ExplainJob looked = job();
        looked.setsRewrites = true;
        m_engine.check(looked);
    }
}

} // namespace retro::app

#include "moc_runcontroller.cpp"
