// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

class QCheckBox;
class QLabel;
class QPushButton;
class QTreeView;

namespace retro::app
{

class LiveRuns;

/// The runs of notebooks in a small window beside the main one. GUI thread.
class LiveRunsDialog final : public QDialog
{
    Q_OBJECT

public:
    LiveRunsDialog(LiveRuns& runs, QWidget* parent);

    /// What the box says, and the line below it: where it listens, how many send, or what went wrong.
    void setState(bool isListening, const QString& line);
    /// A run is on screen that another one can be compared with.
    void setComparable(bool isComparable);

signals:
    /// The box was switched.
    void listenWanted(bool isOn);
    void openWanted(const QString& path);
    void compareWanted(const QString& path);
    void diagnoseWanted(const QString& path);

private:
    void makeButtons();
    void takeRow(int row);
    void enableButtons();
    [[nodiscard]] QString chosen() const;

    LiveRuns& m_runs;
    QCheckBox* m_listens = nullptr;
    QCheckBox* m_follows = nullptr;
    QLabel* m_line = nullptr;
    QTreeView* m_list = nullptr;
    QPushButton* m_open = nullptr;
    QPushButton* m_compare = nullptr;
    QPushButton* m_diagnose = nullptr;
    bool m_isComparable = false;
};

} // namespace retro::app
