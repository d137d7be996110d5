# Pilots of fleet as a Nomad batch job: nomad job run pilot.nomad.hcl; more of them with
# `nomad job dispatch fleet-pilot`. The clients have fleet, git and a coder.
job "fleet-pilot" {
  type        = "batch"
  datacenters = ["*"]

  parameterized {
    payload       = "forbidden"
    meta_optional = ["labels"]
  }

  group "pilot" {
    count = 1

    restart {
      attempts = 0
      mode     = "fail"
    }

    task "pilot" {
      driver = "raw_exec"

      # fleet ends its agents (grace_s) and sends what they left.
      kill_signal  = "SIGTERM"
      kill_timeout = "90s"

      config {
        command = "/bin/sh"
        args    = ["local/pilot.sh"]
      }

      artifact {
        source      = "https://files.example.org/pilot.sh"
        destination = "local"
      }

      env {
        FLEET_QUEUE     = "postgresql://alpha@db.example.org/fleet"
        FLEET_HOME      = "${NOMAD_TASK_DIR}/fleet"
        FLEET_SLOTS     = "2"
        FLEET_LABELS    = "nomad"
        FLEET_HOST_NAME = "nomad-${NOMAD_SHORT_ALLOC_ID}"
      }

      resources {
        cpu    = 2000
        memory = 4096
      }
    }
  }
}
