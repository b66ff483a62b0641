// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/run/question.h"

#include <QWidget>

#include <vector>

class QComboBox;
class QGridLayout;
class QLabel;
class QPushButton;
class QToolButton;

namespace retro::views
{

class ThumbnailButton;

/// What to explain and how: model, input, question, rules. Posts what was chosen; runs nothing itself. GUI thread.
class RunPanel final : public QWidget
{
    Q_OBJECT

public:
    explicit RunPanel(QWidget* parent = nullptr);

    /// Another model: fills the choices and keeps what still fits.
    void setModel(const ModelFacts& facts);
    /// What the run on screen was asked with.
    void setQuestion(const Question& question);
    [[nodiscard]] Question question() const;
    /// Small heatmaps of composites for the present input; a click on one runs it.
    void setThumbnails(const std::vector<CompositeThumbnail>& thumbnails, const QString& current);
    /// A job is running: the button says Stop.
    void setRunning(bool isRunning);
    /// Composites that can be chosen, the first is the default.
    [[nodiscard]] static QStringList composites();
    /// Name of a composite for people: "Epsilon + z-plus".
    [[nodiscard]] static QString compositeTitle(const QString& composite);

signals:
    void openModelRequested();
    void openInputRequested();
    void runRequested();
    void stopRequested();

protected:
    void changeEvent(QEvent* event) override;

private:
    QWidget* makeSection(const QString& title);
    void addRow(QGridLayout& grid, const QString& name, QWidget* field, QWidget* extra = nullptr);
    void applyColors();

    QLabel* m_model = nullptr;
    QLabel* m_summary = nullptr;
    QLabel* m_problem = nullptr;
    QComboBox* m_input = nullptr;
    QComboBox* m_target = nullptr;
    QComboBox* m_start = nullptr;
    QComboBox* m_composite = nullptr;
    QToolButton* m_openInput = nullptr;
    QPushButton* m_openModel = nullptr;
    QPushButton* m_run = nullptr;
    std::vector<ThumbnailButton*> m_thumbnails;
    std::vector<QLabel*> m_sections;
    std::vector<QLabel*> m_names;
    bool m_isRunning = false;
};

} // namespace retro::views
