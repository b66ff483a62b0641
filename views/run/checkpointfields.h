// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>
#include <QWidget>

class QCheckBox;

namespace retro::views
{

class ChosenList;

/// The LRP checkpoints of the next run: values whose relevance is kept when it is final. They come from the graph (its
/// menu); here they are seen and removed. Without any it is not on screen. GUI thread.
class CheckpointFields final : public QWidget
{
    Q_OBJECT

public:
    explicit CheckpointFields(QWidget* parent = nullptr);

    /// Other values, without saying changed().
    void setCheckpoints(const QStringList& values, bool stopsThere);
    [[nodiscard]] QStringList checkpoints() const;
    /// Runs end when all are taken; false without any.
    [[nodiscard]] bool stopsThere() const;

signals:
    void changed();

private:
    ChosenList* m_list = nullptr;
    QCheckBox* m_stops = nullptr;
};

} // namespace retro::views
