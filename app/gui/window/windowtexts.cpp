// SPDX-License-Identifier: Apache-2.0
// Texts in the main window: what is asked of them, and what grows while a model goes on with one.
#include "app/common/exports.h"
#include "app/gui/controllers/runcontroller.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "core/trace/runtext.h"
#include "views/run/runpanel.h"
#include "views/text/textview.h"

namespace retro::app
{

void MainWindow::connectTexts()
{
    m_explain->text().setWriter(&writeText);
    connect(&m_explain->text(), &views::TextView::questionWanted, this, [this](qint64 position, const QString& target) {
        if (!m_loaded) {
            return say(tr("A recorded run answers one question. Open its model to ask another one."));
        }
        engine::Question question = m_explain->runPanel().question();
        question.position = std::to_string(position);
        question.targets = {target.isEmpty() ? std::string("argmax") : target.toStdString()};
        question.contrast.clear();
        m_run->putQuestion(question);
        runQuestion();
    });
    connect(&m_engine, &EngineWorker::textGrown, this,
            [this](quint64 generation, const std::shared_ptr<const trace::RunText>& text) {
                if (generation == m_generation && m_text.hasText()) {
                    m_text.setText(text);
                }
            });
}

/// Of a text the panes are arranged for texts; a graph alone leaves them as they are.
void MainWindow::takeText(const std::shared_ptr<const trace::RunText>& text)
{
    m_text.setText(text);
    if (m_text.hasText()) {
        m_explain->showTexts(true);
    } else if (m_model.hasRun() && m_model.run().eventCount() > 0) {
        m_explain->showTexts(false);
    }
}

} // namespace retro::app
