#include "ipc/types/snapshot_delta.h"
