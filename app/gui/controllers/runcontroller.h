// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "views/run/runfacts.h"

#include <QObject>
#include <QString>

namespace retro::views
{
class RunPanel;
}

namespace retro::app
{

class CoverController;
class EngineWorker;

/// Makes jobs of what the run panel says, and lets the engine look at each question before it runs. GUI thread.
class RunController final : public QObject
{
    Q_OBJECT

public:
    RunController(views::RunPanel& panel, EngineWorker& engine, CoverController& cover, QObject* parent);

    /// The model that questions are about; null = none. The same model with other rewrites is no other model.
    void setModel(engine::LoadedModelPointer model);
    /// What the panel asks, with the pixels that are covered now. Needs a model.
    [[nodiscard]] ExplainJob job() const;
    /// The same, asked by Run itself: when something else was chosen than the model was opened with, it is kept in the
    /// card beside the model.
    [[nodiscard]] ExplainJob jobOfRun();
    /// What the panel says now is what the model was opened with.
    void takeOpened();
    /// Asks for class `index` of the explained output in place of the present target. Without a model it says why not.
    void askClass(std::int64_t index);
    /// Asks for an element or a segment of the explained output, as --target takes it: "segment=2". Without a model it
    /// says why not.
    void askPlace(const QString& code) { askAs(code, {}); }
    /// The same, with relevance that starts as `start` says (as --start takes it; empty: as now).
    void askAs(const QString& code, const QString& start);
    /// Chooses a value as what the next run explains. Without a model it says why not.
    void chooseValue(const QString& value);
    /// Puts a question into the panel, as if it had been chosen there.
    void putQuestion(const engine::Question& question);
    /// Takes a checkpoint at that value in the next run, or no longer. Without a model it says why not.
    void setCheckpoint(const QString& value, bool isOn);

signals:
    /// Something is to be said in the status bar.
    void said(const QString& sentence);
    /// Something was chosen that is explained at once: numbers of the rules, a composite by its picture, a class.
    void jobWanted(const retro::app::ExplainJob& job);
    /// The panel asks this of the model now; nothing runs it yet.
    void asked(const retro::app::ExplainJob& job);

private:
    void look();

    views::RunPanel& m_panel;
    EngineWorker& m_engine;
    CoverController& m_cover;
    engine::LoadedModelPointer m_model;
    engine::Question m_opened;
    bool m_hasChosen = false; ///< since the model was opened Run has asked something else
};

} // namespace retro::app
