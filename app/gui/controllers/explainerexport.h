// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "core/base/result.h"
#include "views/common/actions.h"
#include "views/common/jobrunner.h"

#include <QObject>

#include <functional>
#include <optional>

class QWidget;

namespace retro::app
{

/// Registers the action that writes the explanation as a model.
void addExplainerExportAction(views::ActionRegistry& actions);

/// Writes the forward pass and the relevance pass that the panel asks for as one ONNX graph (docs/relevancegraph.md),
/// off the GUI thread. GUI thread.
class ExplainerExport final : public QObject
{
    Q_OBJECT

public:
    /// What the panel asks of the model that is open; nothing without one.
    using Asked = std::function<std::optional<ExplainJob>()>;

    ExplainerExport(views::ActionRegistry& actions, Asked asked, QWidget& window);

    /// Writes it; wrote() or failed() says how it ended. Without a target in the panel the class is an input of the
    /// graph.
    void write(const QString& path);
    [[nodiscard]] bool isWriting() const { return m_jobs.isRunning(); }

signals:
    void wrote(const QString& path);
    void said(const QString& sentence);
    void failed(const retro::base::Error& error);

private:
    void ask();

    Asked m_asked;
    QWidget& m_window;
    views::JobRunner m_jobs;
};

} // namespace retro::app
